"""Make the pictures of the documentation: screenshots of real reports, and the chart of speeds.

    python scripts/docs_images.py                 # all of them
    python scripts/docs_images.py report chart    # some

Each guide is followed in an empty folder, as `tests/docs/test_guides.py` does, and the page that it
ends with is opened in a headless Chromium. Needs Chromium, Pillow, and the packages of the guides.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

REPOSITORY = Path(__file__).resolve().parents[1]
IMAGES = REPOSITORY / "docs" / "images"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
COLORS = 128
WORK = Path(tempfile.gettempdir()) / "curator"
"""The folder in which pages are followed: the same each time, because reports show it."""

sys.path.insert(0, str(REPOSITORY / "tests" / "kits"))
from pagekit import DOCS, follow  # noqa: E402 - found by the line above


@dataclass(frozen=True)
class Shot:
    """The top of an HTML page that following a page of the documentation, or the demo, leaves."""

    page: str
    file: str
    height: int = 900
    width: int = 1000


SHOTS = {
    "demo": Shot("", "demo/output/kept/.curator/web_quality/report.html", height=1150),
    "report": Shot("getting_started.md", "clean/.curator/mine/report.html"),
    "crawl": Shot("guides/common_crawl.md", "clean/.curator/crawl/report.html"),
    "curation": Shot("guides/curation.md", "clean/.curator/corpus/report.html"),
    "duplicates": Shot("guides/deduplicate.md",
                       "distinct/.curator/fuzzy_deduplication/duplicates.html", height=1500),
    "pictures": Shot("guides/images.md", "shards/.curator/photos/pictures.html"),
    "recordings": Shot("guides/speech.md", "segments/.curator/speech/recordings.html"),
    "clips": Shot("guides/scenes.md", "clips/.curator/clips/clips.html"),
}  # fmt: skip


def take(name: str, shot: Shot) -> None:
    WORK.mkdir()
    try:
        if shot.page:
            follow(DOCS / shot.page, WORK)
        else:
            run_demo(WORK)
        picture = WORK / f"{name}.png"
        photograph(WORK / shot.file, picture, shot)
        with Image.open(picture) as whole:
            whole.convert("RGB").quantize(COLORS).save(IMAGES / picture.name, optimize=True)
    finally:
        shutil.rmtree(WORK)


def run_demo(folder: Path) -> None:
    """Run the demo as from a checkout, so that the report shows no path of this machine."""
    (folder / "examples").symlink_to(REPOSITORY / "examples")
    command = [sys.executable, "examples/demo.py", "--out", "demo"]
    subprocess.run(command, check=True, cwd=folder)


def photograph(page: Path, picture: Path, shot: Shot) -> None:
    assert CHROMIUM, "Chromium is not installed"
    window = f"--window-size={shot.width},{shot.height}"
    subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                    window, f"--screenshot={picture}", page.resolve().as_uri()],
                   check=True, capture_output=True, timeout=240)  # fmt: skip


def draw_chart() -> None:
    """Draw the table of text speeds on the benchmarks page as bars."""
    rows = re.findall(r"^\| (\S.*?) \| ([\d,]+) \| ([\d,]+) \|$",
                      (DOCS / "benchmarks.md").read_text(), re.M)  # fmt: skip
    bars = [
        (f"{rules}: {engine}", int(number.replace(",", "")))
        for rules, *numbers in rows
        for engine, number in zip(("Python", "compiled"), numbers, strict=True)
    ]
    longest = max(number for _, number in bars)
    lines = []
    for place, (label, number) in enumerate(bars):
        top, length = 40 + 34 * place, 330 * number / longest
        color = "#94a3b8" if label.endswith("Python") else "#0d9488"
        lines += [
            f'<text x="300" y="{top + 16}" text-anchor="end">{label}</text>',
            f'<rect x="310" y="{top}" width="{length:.0f}" height="22" rx="3" fill="{color}"/>',
            f'<text x="{316 + length:.0f}" y="{top + 16}">{number:,}</text>',
        ]
    height = 50 + 34 * len(bars)
    (IMAGES / "text_speed.svg").write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" font-size="13" '
        'font-family="system-ui, sans-serif">\n'
        "<style>text { fill: #334155 } "
        "@media (prefers-color-scheme: dark) { text { fill: #cbd5e1 } }</style>\n"
        '<text x="10" y="22" font-weight="bold">Documents per CPU-second</text>\n'
        + "\n".join(lines) + "\n</svg>\n"
    )  # fmt: skip


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    for name in sys.argv[1:] or [*SHOTS, "chart"]:
        draw_chart() if name == "chart" else take(name, SHOTS[name])


if __name__ == "__main__":
    main()
