"""Job scripts and their helpers are in `jobs`, so that other processes can import them too."""

import sys
from pathlib import Path

JOBS = Path(__file__).parent / "jobs"
sys.path.insert(0, str(JOBS))
