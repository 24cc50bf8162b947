"""Tests that need torch run where it is installed."""

from importlib.util import find_spec

if not find_spec("torch"):
    collect_ignore = ["test_batching.py"]
