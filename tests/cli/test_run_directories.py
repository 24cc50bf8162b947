"""Commands without RUN use the run in the current folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]


def make_run(folder: Path, started: float) -> None:
    folder.mkdir(parents=True)
    facts = {"name": folder.name, "status": "done", "started": started}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "journal.jsonl").touch()


@pytest.mark.parametrize("command", ["status", "report", "retry"])
def test_the_only_run_in_the_folder_is_found(curate: Curate, command: str) -> None:
    curate("run", "recipe.yaml")
    result = curate(command)
    assert (result.code, result.err) == (0, "")
    assert result.out == curate(command, "out").out


@pytest.mark.parametrize("place", [".curator/one", "out/.curator/one", "a/out/.curator/one", "one"])
def test_a_run_in_the_folder_or_two_levels_below_is_found(
    curate: Curate, workspace: Path, place: str
) -> None:
    make_run(workspace / place, 1)
    assert curate("status", "--json").json["name"] == "one"


def test_of_several_runs_the_newest_is_shown_and_all_are_named(
    curate: Curate, workspace: Path
) -> None:
    make_run(workspace / "a/.curator/old", 1)
    make_run(workspace / "b/.curator/new", 2)
    result = curate("status", "--json")
    assert result.json["name"] == "new"
    assert "the newest is b/.curator/new" in result.err
    assert "a/.curator/old" in result.err


def test_a_retry_does_not_choose_among_several_runs(curate: Curate, workspace: Path) -> None:
    make_run(workspace / "a/.curator/old", 1)
    make_run(workspace / "b/.curator/new", 2)
    result = curate("retry")
    assert result.code == 2
    assert "b/.curator/new" in result.err
    assert "a/.curator/old" in result.err


def test_the_last_pipeline_of_a_workflow_counts_as_its_run(curate: Curate, workspace: Path) -> None:
    make_run(workspace / "out/.curator/fuzzy/.curator/1/first", 1)
    make_run(workspace / "out/.curator/fuzzy/.curator/2/second", 2)
    result = curate("status", "--json")
    assert (result.json["name"], result.err) == ("second", "")


def test_a_folder_that_may_not_be_listed_is_skipped(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(workspace / "out/.curator/one", 1)
    (workspace / "closed").mkdir()
    scandir = os.scandir

    def refusing(path: str) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    assert curate("status", "--json").json["name"] == "one"


def test_a_folder_without_runs(curate: Curate) -> None:
    result = curate("status")
    assert result.code == 2
    assert "no run in this folder" in result.err
