"""What tests of clusters share lies above."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
