"""What packages add to the report of a run: only theirs, within bounds, and harmless."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from curator_core.errors import InputError
from curator_core.plugins.hookspecs import hookimpl
from curator_core.plugins.registry import Plugins
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.exhibits import Exhibit, Shown, shown_exhibits
from reportkit import write_run

HERE = __name__


def sounds(record: RunRecord, room: int) -> Exhibit:
    return Exhibit("Sounds <1>", f"<p>{record.name}, {room}</p>", "p { color: red }")


def nothing(record: RunRecord, room: int) -> Exhibit:
    raise InputError("there is nothing")


def broken(record: RunRecord, room: int) -> Exhibit:
    raise ValueError("<boom>")


def vast(record: RunRecord, room: int) -> Exhibit:
    return Exhibit("Vast", "x" * (room + 1))


def record(folder: Path, stage: str) -> RunRecord:
    run = Path(write_run(folder / "run", stages=2, events=0))
    facts = json.loads((run / "run.json").read_text())
    facts["plan"][1]["stage"] = stage
    (run / "run.json").write_text(json.dumps(facts))
    return read_run(str(run), in_short=True)


def shown(of: RunRecord, *functions: Any, room: int = 100_000) -> Shown:
    found = Plugins()
    places = {f"mine.{one.__name__}": f"{HERE}:{one.__name__}" for one in functions}
    offers = hookimpl(lambda: places)
    found.register("mine", SimpleNamespace(curator_reports=offers))
    return shown_exhibits(of, room, found)


def test_packages_whose_stages_ran_show_what_they_have(tmp_path: Path) -> None:
    stage = f"{HERE}:Stage"
    made = shown(record(tmp_path, stage), sounds, nothing)
    assert made.html == (
        '<h2>Sounds &lt;1&gt;</h2><div class="of-mine-sounds"><p>large, 100000</p></div>\n'
    )
    assert made.style == ".of-mine-sounds { p { color: red } }\n"


def test_others_are_not_asked(tmp_path: Path) -> None:
    assert shown(record(tmp_path, "another.stages:Stage"), sounds, broken) == Shown()


def test_one_that_fails_or_has_no_room_costs_no_report(tmp_path: Path) -> None:
    made = shown(record(tmp_path, f"{HERE}.stages:Stage"), broken, vast)
    assert "This could not be shown: ValueError: &lt;boom&gt;" in made.html
    assert "There is no room left for it" in made.html
    assert len(made.html) < 1000
    assert shown(record(tmp_path / "full", f"{HERE}:Stage"), sounds, room=100) == Shown()
