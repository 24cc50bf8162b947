"""Tests of audio run if its libraries are installed; they import `sounds` and `tiny_whispers`."""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_core import AnyStage

if not all(map(find_spec, ("av", "torch", "torchaudio"))):
    collect_ignore_glob = ["test_*.py", "*/test_*.py"]

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "transcripts")]


@pytest.fixture
def problems() -> Callable[[AnyStage], list[str]]:
    """Return the option and the value that each problem of a stage names."""
    return lambda stage: [problem.partition(", but ")[0] for problem in stage.check()]
