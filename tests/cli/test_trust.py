"""Options that give permissions to a recipe."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]


@pytest.mark.parametrize("command", ["plan", "preview", "run"])
def test_a_variable_is_read_with_permission_only(
    curate: Curate, workspace: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("WORD", "hush-hush")
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(recipe.replace("id: loud", "refused: ${env:WORD}"))
    refused = curate(command, "recipe.yaml")
    assert refused.code == 2
    assert "--env WORD" in refused.err
    assert curate(command, "recipe.yaml", "--env", "HOME,WORD").code == 0


@pytest.mark.parametrize("command", ["plan", "preview", "run"])
def test_a_protocol_is_used_with_permission_only(
    curate: Curate, workspace: Path, command: str
) -> None:
    recipe = (workspace / "recipe.yaml").read_text()
    (workspace / "recipe.yaml").write_text(
        recipe.replace("raw/*.jsonl", f"dir://*.jsonl::{workspace}/raw")
    )
    refused = curate(command, "recipe.yaml")
    assert refused.code == 2
    assert "--allow-protocol dir" in refused.err
    allowed = curate(command, "recipe.yaml", "--allow-protocol", "dir")
    assert "--allow-protocol" not in allowed.err


def test_an_unknown_protocol_is_reported(curate: Curate) -> None:
    result = curate("plan", "recipe.yaml", "--allow-protocol", "zpi")
    assert result.code == 2
    assert "did you mean zip?" in result.err
