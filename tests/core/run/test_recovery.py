"""A crash at any change to the disk only costs time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "jobs" / "crash_points.py"
SCENARIOS = (
    "fresh", "mixed", "changed", "changed_mixed", "prune", "prune_mixed", "renamed", "retry",
    "retry_records", "overwrite",
)  # fmt: skip


def crash(scenario: str, folder: Path, stride: int) -> dict[str, list[str]]:
    """Return the failures by crash point; every `stride`-th point is tried."""
    done = subprocess.run(
        [sys.executable, str(SCRIPT), scenario, str(folder), str(stride)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["tried"] >= 4
    wrong: dict[str, list[str]] = facts["wrong"]
    return wrong


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_resuming_after_a_crash_has_the_output_of_an_undisturbed_run(
    scenario: str, tmp_path: Path
) -> None:
    assert crash(scenario, tmp_path / "job", 9) == {}


@pytest.mark.soak
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_resuming_after_a_crash_anywhere(scenario: str, tmp_path: Path) -> None:
    assert crash(scenario, tmp_path / "job", 1) == {}
