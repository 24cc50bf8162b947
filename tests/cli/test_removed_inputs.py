"""`curate run` where input files are gone that earlier output was made of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]


def parts(desk: Path) -> list[str]:
    return sorted(path.name for path in (desk / "out").glob("part-*"))


@pytest.fixture(name="before")
def _before(curate: Curate, desk: Path) -> list[str]:
    assert curate("run", "recipe.yaml").code == 0
    min((desk / "raw").glob("*.jsonl")).unlink()
    return parts(desk)


def test_it_stops(curate: Curate, desk: Path, before: list[str]) -> None:
    said = curate("run", "recipe.yaml")
    assert said.code == 2
    assert "--prune" in said.err
    assert "--keep-removed" in said.err
    assert "Traceback" not in said.err
    assert parts(desk) == before


def test_prune_lists_until_it_is_confirmed(curate: Curate, desk: Path, before: list[str]) -> None:
    said = curate("run", "recipe.yaml", "--prune")
    assert said.code == 2
    assert "--yes" in said.err
    assert parts(desk) == before
    assert curate("run", "recipe.yaml", "--prune", "--yes").code == 0
    left = parts(desk)
    assert len(left) == len(before) - 1
    assert set(before).difference(left).pop() in said.err
    assert curate("run", "recipe.yaml").code == 0


@pytest.mark.parametrize("option", ["--keep", "--keep-removed"])
def test_keep_keeps(curate: Curate, desk: Path, before: list[str], option: str) -> None:
    assert curate("run", "recipe.yaml", option).code == 0
    assert parts(desk) == before


@pytest.mark.parametrize("wrong", [["--prune", "--keep"], ["--yes"]])
def test_what_makes_no_sense_is_refused(curate: Curate, wrong: list[str]) -> None:
    assert curate("run", "recipe.yaml", *wrong).code == 2


def test_workflows_have_the_same_options(curate: Curate, desk: Path) -> None:
    call = ("trial", "twice", "raw/*.jsonl", "out", "--executor", "local", "--workers", "0")
    assert curate(*call).code == 0
    min((desk / "raw").glob("*.jsonl")).unlink()
    before = parts(desk)
    assert "--prune" in curate(*call).err
    assert curate(*call, "--prune").code == 2
    assert parts(desk) == before
    assert curate(*call, "--prune", "--yes").code == 0
    assert len(parts(desk)) < len(before)
