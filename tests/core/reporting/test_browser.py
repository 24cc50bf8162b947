"""The page in a real browser: telephones and screens, by day and by night, without a network."""

import html
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from curator_core.reporting.directories import read_run
from curator_core.reporting.pages import render
from curator_core.results import StageCounts
from curator_core.runs.lines import to_line
from curator_core.scores import Scores
from reportkit import write_run

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE_S = 240

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt-get install chromium)"),
    pytest.mark.timeout(2 * PATIENCE_S),
]

LOOK = """<!doctype html><html style="color-scheme: light dark"><body><script>
const frame = document.createElement("iframe");
frame.style = "width: WIDTHpx; height: 900px; border: 0; color-scheme: light dark";
frame.srcdoc = PAGE;
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement;
  for (const one of page.querySelectorAll("details")) one.open = true;
  const box = one => one.getBoundingClientRect();
  const seen = [...page.querySelectorAll("h1, h2, h3, td, p, pre, svg")];
  const low = name => Math.min(...[...page.querySelectorAll(name)].map(one => box(one).height));
  const found = {
    wide: root.scrollWidth,
    shown: seen.filter(one => box(one).height > 0).length,
    sections: [...page.querySelectorAll("h2")].map(one => one.textContent),
    ink: frame.contentWindow.getComputedStyle(page.body).color,
    foreign: page.querySelectorAll("script, img, iframe, link, object, embed").length,
    loaded: frame.contentWindow.performance.getEntriesByType("resource").length,
    taken: frame.contentWindow.taken === undefined ? "" : "taken over",
    lowest: low(".histogram"), limits: page.querySelectorAll("line.limit").length,
    sides: new Set([...page.querySelectorAll(".sides > div")].map(one => box(one).left)).size,
  };
  document.body.innerHTML = "";
  document.title = JSON.stringify(found);
};
document.body.append(frame);
</script></body></html>"""

HARM = "</pre><script>taken = 1</script><img src=x onerror='taken = 1'>\u202e" + "wide" * 600


def page_of(folder: Path) -> str:
    """A run with something in every section, and harm in its samples."""
    run = Path(write_run(folder / "run", stages=60, events=300))
    sample: dict[str, Any] = {"time": 1.0, "event": "sample", "stage": "stage_3", "label": HARM}
    with open(run / "events.jsonl", "ab") as file:
        for place in range(3):
            file.write(to_line({**sample, "before": HARM, "after": f"{HARM} {place}"}))
            file.write(to_line({**sample, "before": HARM, "reason": HARM}))
    record = read_run(str(run), in_short=True)
    scores = Scores.of([n / 3 for n in range(100, 900)], [n / 3 for n in range(100)])
    record.result.stages["stage_5"] = StageCounts(scores={"score": scores})
    record.facts["plan"][5]["options"] = {"min_words": 33}
    return render(record)


def looked_at(page: str, folder: Path, width: int, scheme: str) -> dict[str, Any]:
    """What a browser makes of the page; one that does not answer in time is asked once more."""
    look = LOOK.replace("WIDTH", str(width)).replace("PAGE", json.dumps(page).replace("</", "<\\/"))
    wrapper = folder / "look.html"
    wrapper.write_text(look, "utf-8", "replace")
    said = ""
    for attempt in range(2):
        said = dumped(wrapper, folder / f"profile{attempt}", scheme)
        title = re.search(r"<title>(\{.*?\})</title>", said)
        if title:
            found: dict[str, Any] = json.loads(html.unescape(title[1]))
            return found
    raise AssertionError(f"the browser said nothing of the page: {said[-2000:]}")


def dumped(wrapper: Path, profile: Path, scheme: str) -> str:
    """The document after its scripts; all processes of the browser end with this."""
    assert CHROMIUM
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
        f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom",
        wrapper.as_uri(),
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    try:
        return process.communicate(timeout=PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_can_be_read(width: int, scheme: str, tmp_path: Path) -> None:
    found = looked_at(page_of(tmp_path), tmp_path, width, scheme)
    assert found["wide"] <= width
    assert found["shown"] > 200
    assert {"Scores", "Before and after", "Dropped records"} <= set(found["sections"])
    assert (found["lowest"] > 60, found["limits"]) == (True, 1)
    assert found["sides"] == (2 if width > 640 else 1)
    shades = [int(shade) for shade in re.findall(r"\d+", found["ink"])]
    assert shades
    assert (min(shades) > 200) if scheme == "dark" else (max(shades) < 60)
    assert (found["foreign"], found["loaded"], found["taken"]) == (0, 0, "")
