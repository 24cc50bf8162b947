"""The page in a real browser: on phones and screens, light and dark, without a network."""

from pathlib import Path
from typing import Any

import pytest
from browserkit import WIDTHS, check_page, inspect_pages, needs_browser
from curator_core.model.contents import Contents
from curator_core.model.records import StageCounts
from curator_core.model.scores import Scores, bins_of
from curator_core.run.journal import to_line
from curator_report.page import render
from curator_report.run_record import read_run
from reportkit import write_run

pytestmark = needs_browser

HARM = "</pre><script>taken = 1</script><img src=x onerror='taken = 1'>\u202e" + "wide" * 600

SECTIONS = {"What each stage kept", "Distributions", "Scores", "Kept records", "Dropped records",
            "Before and after", "Stages"}  # fmt: skip


def page_of(folder: Path) -> str:
    """Return the page of a run with something in every section, and hostile samples."""
    run = Path(write_run(folder / "run", stages=60, events=300))
    sample: dict[str, Any] = {"time": 1.0, "event": "sample", "stage": "stage_3", "label": HARM}
    with open(run / "events.jsonl", "ab") as file:
        for place in range(3):
            file.write(to_line({**sample, "before": HARM, "after": f"{HARM} {place}"}))
            file.write(to_line({**sample, "before": HARM, "reason": HARM}))
            file.write(to_line({**sample, "before": HARM, "is_kept": True}))
    record = read_run(str(run), in_short=True)
    scores = Scores.of([n / 3 for n in range(100, 900)], [n / 3 for n in range(100)])
    record.result.stages["stage_5"] = StageCounts(scores={"score": scores})
    lengths = Contents({"characters": bins_of([50, 900, 4000] * 90), HARM: bins_of([0.5])},
                       {"language": {"en": 200, HARM: 70}})  # fmt: skip
    record.result.stages["stage_0"].contents = lengths
    end = record.result.stages["stage_59"]
    end.contents, end.files_out = lengths, end.items_out
    record.facts["plan"][5]["options"] = {"min_words": 33}
    return render(record)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_is_readable(scheme: str, tmp_path: Path) -> None:
    results = inspect_pages(tmp_path, scheme, page_of(tmp_path))
    assert [found["width"] for found in results] == list(WIDTHS)
    for found in results:
        check_page(found, scheme)
        assert found["shown"] > 200
        assert set(found["sections"]) >= SECTIONS
        assert (found["lowest"] > 60, found["limits"]) == (True, 1)
        assert found["sides"] == (2 if found["width"] > 640 else 1)
