"""Tests of audio run if its libraries are installed; they import `sounds` and `tiny_whispers`."""

import sys
from importlib.util import find_spec
from pathlib import Path

if not all(map(find_spec, ("av", "torch", "torchaudio"))):
    collect_ignore_glob = ["test_*.py", "*/test_*.py"]

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "transcripts")]
