"""The tests share how archives are written, so this folder has to be on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
