"""`curate run` after input files of earlier output were removed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]


def parts(workspace: Path) -> list[str]:
    return sorted(path.name for path in (workspace / "out").glob("part-*"))


@pytest.fixture(name="before")
def _before(curate: Curate, workspace: Path) -> list[str]:
    assert curate("run", "recipe.yaml").code == 0
    min((workspace / "raw").glob("*.jsonl")).unlink()
    return parts(workspace)


def test_it_stops(curate: Curate, workspace: Path, before: list[str]) -> None:
    result = curate("run", "recipe.yaml")
    assert result.code == 2
    assert "--prune" in result.err
    assert "--keep-removed" in result.err
    assert "Traceback" not in result.err
    assert parts(workspace) == before


def test_prune_lists_until_it_is_confirmed(
    curate: Curate, workspace: Path, before: list[str]
) -> None:
    result = curate("run", "recipe.yaml", "--prune")
    assert result.code == 2
    assert "--yes" in result.err
    assert parts(workspace) == before
    assert curate("run", "recipe.yaml", "--prune", "--yes").code == 0
    left = parts(workspace)
    assert len(left) == len(before) - 1
    assert set(before).difference(left).pop() in result.err
    assert curate("run", "recipe.yaml").code == 0


@pytest.mark.parametrize("option", ["--keep", "--keep-removed"])
def test_keep_keeps(curate: Curate, workspace: Path, before: list[str], option: str) -> None:
    assert curate("run", "recipe.yaml", option).code == 0
    assert parts(workspace) == before


@pytest.mark.parametrize("wrong", [["--prune", "--keep"], ["--yes"]])
def test_contradicting_flags_are_refused(curate: Curate, wrong: list[str]) -> None:
    assert curate("run", "recipe.yaml", *wrong).code == 2


def test_workflows_have_the_same_options(curate: Curate, workspace: Path) -> None:
    call = ("trial", "twice", "raw/*.jsonl", "out", "--executor", "local", "--workers", "0")
    assert curate(*call).code == 0
    min((workspace / "raw").glob("*.jsonl")).unlink()
    before = parts(workspace)
    assert "--prune" in curate(*call).err
    assert curate(*call, "--prune").code == 2
    assert parts(workspace) == before
    assert curate(*call, "--prune", "--yes").code == 0
    assert len(parts(workspace)) < len(before)
