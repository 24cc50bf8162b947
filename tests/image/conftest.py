"""Tests of pictures share makers of small files that stand beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "shards"))
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
