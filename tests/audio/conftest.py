"""Tests of audio run where its libraries are; `sounds` is a module beside them."""

import sys
from importlib.util import find_spec
from pathlib import Path

if not all(map(find_spec, ("av", "torch", "torchaudio"))):
    collect_ignore_glob = ["test_*.py"]

sys.path.insert(0, str(Path(__file__).parent))
