"""File names can be hostile: none of them sends commands to a terminal."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Curate = Callable[..., Any]
NAME = "x\x1b]0;PWNED\x07\x1b[2J.jsonl"


@pytest.fixture
def hostile(workspace: Path) -> Path:
    (workspace / "raw" / NAME).write_text('{"text": "a good and long one"}\n{broken\n')
    return workspace


def test_no_command_prints_control_characters(curate: Curate, hostile: Path) -> None:
    for command in (
        ("plan", "recipe.yaml"),
        ("preview", "recipe.yaml"),
        ("run", "recipe.yaml"),
        ("status", "out"),
        ("report", "out"),
        ("retry", "out"),
        ("run", f"{NAME}.yaml"),
        ("plan", "recipe.yaml", "--set", f"input.file_paths={NAME}"),
    ):
        result = curate(*command)
        assert "\x1b]" not in result.out + result.err, command
        assert "\x1b[2J" not in result.out + result.err, command
    assert "[U+001B]]0;PWNED" in curate("report", "out").out
