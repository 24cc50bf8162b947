"""Make the reference network importable."""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

if not find_spec("torch"):
    collect_ignore = ["test_transnet.py"]
