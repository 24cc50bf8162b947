"""A real browser without a network, which measures pages at several widths."""

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

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
BROWSER_TIMEOUT_S = 240
WIDTHS = (390, 800, 1280)
"""A telephone, a tablet and a screen."""

needs_browser = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium (apt-get install chromium)"),
    pytest.mark.timeout(2 * BROWSER_TIMEOUT_S),
]

LOOK = """<!doctype html><html style="color-scheme: light dark"><body><script>
const results = [], PAGES = PAGES_HERE, WIDTHS = WIDTHS_HERE;
const inspect = frame => {
  const page = frame.contentDocument, root = page.documentElement;
  for (const one of page.querySelectorAll("details")) one.open = true;
  const all = selector => [...page.querySelectorAll(selector)];
  const box = one => one.getBoundingClientRect();
  const low = name => Math.min(...all(name).map(one => box(one).height));
  const files = all("img, audio, video, source");
  return {
    wide: root.scrollWidth,
    shown: all("h1, h2, h3, td, p, pre, svg").filter(one => box(one).height > 0).length,
    sections: all("h2").map(one => one.textContent),
    ink: frame.contentWindow.getComputedStyle(page.body).color,
    foreign: all("script, iframe, link, object, embed").length
      + files.filter(one => !one.src.startsWith("data:")).length,
    loaded: frame.contentWindow.performance.getEntriesByType("resource")
      .filter(one => !one.name.startsWith("data:")).length,
    pictures: all("img").filter(one => one.naturalWidth > 0 && box(one).width > 0).length,
    broken: all("img").filter(one => one.complete && one.naturalWidth === 0).length,
    players: all("audio")
      .filter(one => box(one).width > 100 && box(one).right <= root.clientWidth).length,
    taken: frame.contentWindow.taken === undefined ? "" : "taken over",
    lowest: low(".histogram"), limits: all("line.limit").length,
    sides: new Set(all(".sides > div").map(one => box(one).left)).size,
  };
};
PAGES.forEach((page, number) => WIDTHS.forEach(width => {
  const frame = document.createElement("iframe");
  frame.style = `width: ${width}px; height: 900px; border: 0; color-scheme: light dark`;
  frame.srcdoc = page;
  frame.onload = () => {
    results.push({page: number, width, ...inspect(frame)});
    frame.remove();
    if (results.length === PAGES.length * WIDTHS.length) document.title = JSON.stringify(results);
  };
  document.body.append(frame);
}));
</script></body></html>"""


def inspect_pages(folder: Path, scheme: str, *pages: str) -> list[dict[str, Any]]:
    """Measure each page at each width in a browser; try a second time if it does not answer."""
    given = json.dumps(pages).replace("</", "<\\/")
    look = LOOK.replace("WIDTHS_HERE", json.dumps(WIDTHS)).replace("PAGES_HERE", given)
    wrapper = folder / "look.html"
    wrapper.write_text(look, "utf-8", "replace")
    output = ""
    for attempt in range(2):
        output = dump_dom(wrapper, folder / f"profile{attempt}", scheme)
        title = re.search(r"<title>(\[.*?\])</title>", output)
        if title:
            results: list[dict[str, Any]] = json.loads(html.unescape(title[1]))
            return sorted(results, key=lambda found: (found["page"], found["width"]))
    raise AssertionError(f"the browser did not report on the page: {output[-2000:]}")


def check_page(found: dict[str, Any], scheme: str) -> None:
    """Check that it fits, that its text suits the color scheme, and that it loads nothing."""
    assert found["wide"] <= found["width"]
    shades = [int(shade) for shade in re.findall(r"\d+", found["ink"])]
    assert shades
    assert (min(shades) > 200) if scheme == "dark" else (max(shades) < 60)
    assert (found["foreign"], found["loaded"], found["taken"]) == (0, 0, "")


def dump_dom(wrapper: Path, profile: Path, scheme: str) -> str:
    """Return the document after its scripts ran; all processes of the browser end with this."""
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
        return process.communicate(timeout=BROWSER_TIMEOUT_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0]
