"""What the row on reports starts is there, and says what the row reads of it."""

import json
import subprocess
import sys
from pathlib import Path

JOB = Path(__file__).parents[2] / "benchmarks" / "jobs" / "report_events.py"


def test_a_report_of_many_events_is_made_and_measured(tmp_path: Path) -> None:
    command = [sys.executable, str(JOB), "50", "3", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    assert facts["page_bytes"] == (tmp_path / "run" / "report.html").stat().st_size
    assert facts.keys() == {"seconds", "cpu_s", "page_bytes", "grown"}
