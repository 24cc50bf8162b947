"""The examples are scripts beside each other, so their folder has to be on the path."""

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
