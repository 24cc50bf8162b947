"""`curate status`, `report`, `preview`, `doctor` and `init`."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]
CURATE = (sys.executable, "-c", "from curator_cli.__main__ import main; main()")


def test_status_of_a_finished_run(curate: Curate) -> None:
    curate("run", "recipe.yaml")
    result = curate("status", "out")
    assert result.code == 0
    assert result.out.startswith("trial is done: 3 sources done, ")
    facts = curate("status", "out", "--json").json
    assert (facts["state"], facts["sources_done"], facts["files"]) == ("done", 3, 2)
    assert facts["stages"]["long_enough"]["items_dropped"] == 2


def test_a_second_run_does_not_shorten_the_first(curate: Curate) -> None:
    curate("run", "recipe.yaml", "--set", "steps.loud.seconds=0.1")
    curate("run", "recipe.yaml", "--set", "steps.loud.seconds=0.1")
    assert curate("status", "out", "--json").json["seconds"] >= 0.2


def test_status_of_a_run_under_way_and_of_one_that_was_killed(
    curate: Curate, workspace: Path
) -> None:
    slow = ("--set", "steps.loud.seconds=1", "--workers", "0", "--quiet")
    with subprocess.Popen([*CURATE, "run", "recipe.yaml", *slow]) as process:
        journal = workspace / "out/.curator/trial/journal.jsonl"
        while not (journal.exists() and b'"commit"' in journal.read_bytes()):
            assert process.poll() is None
            time.sleep(0.02)
        running = curate("status", "out")
        os.kill(process.pid, signal.SIGKILL)
    assert re.match(r"trial is running: \d( of 3)? sources? done, ", running.out)
    assert " ago" in running.out.splitlines()[0]
    killed = curate("status", "out")
    assert killed.out.startswith("trial was killed (its process no longer runs): 1 source done")
    assert "run the same command again" in killed.out


def test_watching_ends_with_the_run(curate: Curate) -> None:
    curate("run", "recipe.yaml")
    result = curate("status", "out", "--watch")
    assert result.out.splitlines() == [result.out.strip()]
    assert result.out.startswith("trial is done")
    assert json.loads(curate("status", "out", "--watch", "--json").out)["state"] == "done"


def test_the_exit_code_of_watching_is_that_of_the_run(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    assert curate("status", "out", "--watch").code == 0
    facts = workspace / "out/.curator/trial/run.json"
    ended = json.loads(facts.read_text())
    for status, code in (("failed", 1), ("interrupted", 1), ("done", 0)):
        facts.write_text(json.dumps({**ended, "status": status}))
        assert (curate("status", "out", "--watch").code, curate("status", "out").code) == (code, 0)


def test_a_torn_last_line_is_what_a_run_under_way_has(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    for name in ("journal.jsonl", "events.jsonl"):
        with open(workspace / "out/.curator/trial" / name, "a") as file:
            file.write('{"event": "com')
    before = (workspace / "out/.curator/trial/journal.jsonl").read_bytes()
    assert curate("status", "out", "--json").json["sources_done"] == 3
    assert (workspace / "out/.curator/trial/journal.jsonl").read_bytes() == before


def test_the_latest_of_several_runs_is_shown(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    again = ("--set", "name=later", "--set", "output.mode=append")
    assert curate("run", "recipe.yaml", *again).code == 0
    assert curate("status", "out", "--json").json["name"] == "later"
    assert curate("status", "out/.curator/trial", "--json").json["name"] == "trial"
    assert curate("status", "out/.curator", "--json").json["name"] == "later"


@pytest.mark.parametrize("command", ["status", "report", "retry"])
def test_a_path_that_is_not_a_run(curate: Curate, workspace: Path, command: str) -> None:
    result = curate(command, "raw")
    assert result.code == 2
    assert result.err == (
        "curate: no run in raw: it has neither a run.json nor .curator/<run>/run.json; "
        "give a run directory, or the output folder of a run\n"
    )
    assert curate(command, "rwa").err == (
        f"curate: no such file or folder: rwa (did you mean {workspace}/raw?)\n"
    )


def test_a_report_shows_every_reason_and_writes_a_page(curate: Curate, workspace: Path) -> None:
    curate("run", "recipe.yaml")
    page = workspace / "out/.curator/trial/report.html"
    page.unlink()
    result = curate("report", "out")
    [row] = [line.split() for line in result.out.splitlines() if line.strip().startswith("2  ")]
    assert row == ["2", "40.0", "%", "long_enough", "too", "short"]
    assert page.exists()
    facts = curate("report", "out", "--json").json
    assert facts["dropped"] == [{"stage": "long_enough", "reason": "too short", "items": 2}]


def test_a_preview_shows_what_each_stage_does_and_writes_nothing(
    curate: Curate, workspace: Path
) -> None:
    before = sorted(workspace.rglob("*"))
    result = curate("preview", "recipe.yaml", "-n", "4")
    lines = [" ".join(line.split()) for line in result.out.splitlines()]
    assert lines[0] == "trial: 4 records from 3 files"
    at = lines.index("long_enough 4 in, 2 out, 2 dropped")
    assert lines[at + 1] == "dropped 2: too short"
    at = lines.index("loud 2 in, 2 out, 2 changed")
    change = re.fullmatch(r"~ text: \[-(\w+)-\]\{\+(\w+)\+\}", lines[at + 1])
    assert change
    assert change[2] == change[1].upper()
    [kept] = [at for at, line in enumerate(lines) if "would be kept" in line]
    assert lines[kept] == "2 records would be kept; jsonl_writer skipped, nothing written"
    assert sum(line.startswith("text: ") for line in lines[kept:]) == 2
    assert sorted(workspace.rglob("*")) == before


def test_a_preview_as_json(curate: Curate) -> None:
    seen = curate("preview", "recipe.yaml", "--json").json
    stage = {found["name"]: found for found in seen["stages"]}["long_enough"]
    assert [(drop["reason"], drop["items"]) for drop in stage["drops"]] == [("too short", 2)]
    assert seen["kept"] == 3
    assert {record["text"] for record in seen["rest"]} == {"LANTERN", "HARBOUR", "WINDOW"}


def test_a_preview_shows_failures_and_continues(curate: Curate) -> None:
    result = curate("preview", "recipe.yaml", "--set", "steps.loud.refused=harbour")
    assert result.code == 0
    assert "failed: ValueError: the word harbour is refused" in result.out
    assert "2 records would be kept" in result.out


def test_the_doctor_looks_at_everything(curate: Curate, workspace: Path) -> None:
    facts = curate("doctor", "--json").json
    found = {finding["name"]: finding for finding in facts["findings"]}
    assert {"Python", "CPUs", "memory", "GPUs", "current folder", "runs on"} <= set(found)
    assert str(workspace) in found["current folder"]["message"]
    result = curate("doctor")
    assert result.out.splitlines()[-1] in (
        "No problems found.",
        "1 warning.",
        f"{_unwell(facts)} warnings.",
    )


def _unwell(facts: dict[str, Any]) -> int:
    return sum(finding["state"] == "warn" for finding in facts["findings"])


def test_init_writes_a_recipe_that_runs(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = curate("init", "first")
    assert result.out.splitlines() == [
        "wrote first/recipe.yaml",
        "wrote first/data/pages.jsonl",
        "",
        "Next:",
        "  cd first",
        "  curate preview recipe.yaml",
        "  curate run recipe.yaml",
    ]
    monkeypatch.chdir(workspace / "first")
    assert curate("plan", "recipe.yaml").code == 0
    assert curate("run", "recipe.yaml", "--workers", "0", "--strict").code == 0


def test_init_overwrites_nothing(curate: Curate, workspace: Path) -> None:
    result = curate("init")
    assert result.code == 2
    assert result.err == (
        "curate: recipe.yaml exists already; nothing was written: choose another folder\n"
    )
    assert not (workspace / "data").exists()


def test_init_writes_a_package(curate: Curate, workspace: Path) -> None:
    facts = curate("init", "--plugin", "shout", "--json").json
    assert facts["folder"] == "curator-shout"
    assert facts["next"][0] == "cd curator-shout"
    assert (workspace / "curator-shout/src/curator_shout/plugin.py").exists()


def test_init_refuses_a_name_that_is_taken_or_invalid(curate: Curate) -> None:
    assert curate("init", "--plugin", "trial").err == (
        "curate: there is a plugin 'trial' already, of curator-trial; choose another name\n"
    )
    assert "(did you mean my_shout?)" in curate("init", "--plugin", "My-Shout").err
