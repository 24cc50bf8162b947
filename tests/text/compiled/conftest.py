"""The made-up pages of the examples are what is judged here, too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
