"""Tests that need torch or transformers run where these are installed."""

from importlib.util import find_spec

collect_ignore = []
if not find_spec("torch"):
    collect_ignore += ["test_batching.py", "test_devices.py"]
if not (find_spec("torch") and find_spec("transformers") and find_spec("safetensors")):
    collect_ignore += ["test_loading.py"]
if not find_spec("huggingface_hub"):
    collect_ignore += ["test_hub.py"]
