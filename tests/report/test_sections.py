"""Sections of packages: only of packages whose stages ran, limited in size, and harmless."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from curator_core.errors import InputError
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins
from curator_report.html import render_page
from curator_report.page import page_data
from curator_report.run_record import RunRecord, read_run
from curator_report.sections import PlacedSection, ReportSection, render_sections
from reportkit import write_run

HERE = __name__


def sounds(record: RunRecord, room: int) -> ReportSection:
    return ReportSection("Sounds <1>", f"<p>{record.name}, {room}</p>", "p { color: red }")


def nothing(record: RunRecord, room: int) -> ReportSection:
    raise InputError("there is nothing")


def broken(record: RunRecord, room: int) -> ReportSection:
    raise ValueError("<boom>")


def vast(record: RunRecord, room: int) -> ReportSection:
    return ReportSection("Vast", "x" * (room + 1))


def record(folder: Path, stage: str) -> RunRecord:
    run = Path(write_run(folder / "run", stages=2, events=0))
    facts = json.loads((run / "run.json").read_text())
    facts["plan"][1]["stage"] = stage
    (run / "run.json").write_text(json.dumps(facts))
    return read_run(str(run), in_short=True)


def shown(of: RunRecord, *functions: Any, room: int = 100_000) -> list[PlacedSection]:
    found = Plugins()
    places = {f"mine.{one.__name__}": f"{HERE}:{one.__name__}" for one in functions}
    offers = hookimpl(lambda: places)
    found.register("mine", SimpleNamespace(curator_report_sections=offers))
    return render_sections(of, room, found)


def test_a_package_whose_stages_ran_adds_its_section(tmp_path: Path) -> None:
    stage = f"{HERE}:Stage"
    run = record(tmp_path, stage)
    made = shown(run, sounds, nothing)
    page = render_page("run", title="large", run=page_data(run), sections=made)
    assert '>Sounds &lt;1&gt;</h2><div class="of-mine-sounds"><p>large, 100000</p></div>\n' in page
    assert ".of-mine-sounds { p { color: red } }\n" in page


def test_other_packages_add_nothing(tmp_path: Path) -> None:
    assert shown(record(tmp_path, "another.stages:Stage"), sounds, broken) == []


def test_a_section_that_fails_or_is_too_large_does_not_harm_the_page(tmp_path: Path) -> None:
    made = shown(record(tmp_path, f"{HERE}.stages:Stage"), broken, vast)
    assert [one.html for one in made] == [
        "<p>This could not be shown: ValueError: &lt;boom&gt;</p>",
        "<p>Left out, because the page would be too large.</p>",
    ]
    assert shown(record(tmp_path / "full", f"{HERE}:Stage"), sounds, room=100) == []
