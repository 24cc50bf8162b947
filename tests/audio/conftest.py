"""Tests of audio run where its libraries are; `sounds` and `tiny_whispers` lie beside them."""

import sys
from importlib.util import find_spec
from pathlib import Path

if not all(map(find_spec, ("av", "torch", "torchaudio"))):
    collect_ignore_glob = ["test_*.py"]

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "transcripts")]
