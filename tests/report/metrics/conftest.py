"""Lets these tests, and those of executors, find `prometheuskit`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
