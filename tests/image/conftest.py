"""Tests of pictures share the helpers next to this file, and the generators of the examples."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from curator_core import AnyStage

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))


@pytest.fixture
def problems() -> Callable[[AnyStage], list[str]]:
    """Return the option and the value that each problem of a stage names."""
    return lambda stage: [problem.partition(", but ")[0] for problem in stage.check()]
