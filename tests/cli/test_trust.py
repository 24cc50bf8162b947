"""Options that say what a recipe may do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]


@pytest.mark.parametrize("command", ["plan", "preview", "run"])
def test_a_variable_is_read_by_leave_only(
    curate: Curate, desk: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("WORD", "hush-hush")
    recipe = (desk / "recipe.yaml").read_text()
    (desk / "recipe.yaml").write_text(recipe.replace("id: loud", "refused: ${env:WORD}"))
    refused = curate(command, "recipe.yaml")
    assert refused.code == 2
    assert "--env WORD" in refused.err
    assert curate(command, "recipe.yaml", "--env", "HOME,WORD").code == 0


@pytest.mark.parametrize("command", ["plan", "preview", "run"])
def test_a_protocol_is_used_by_leave_only(curate: Curate, desk: Path, command: str) -> None:
    recipe = (desk / "recipe.yaml").read_text()
    (desk / "recipe.yaml").write_text(recipe.replace("raw/*.jsonl", f"dir://*.jsonl::{desk}/raw"))
    refused = curate(command, "recipe.yaml")
    assert refused.code == 2
    assert "--allow-protocol dir" in refused.err
    allowed = curate(command, "recipe.yaml", "--allow-protocol", "dir")
    assert "--allow-protocol" not in allowed.err


def test_a_protocol_that_is_none_is_told(curate: Curate) -> None:
    said = curate("plan", "recipe.yaml", "--allow-protocol", "zpi")
    assert said.code == 2
    assert "did you mean zip?" in said.err
