"""Tiny models, saved once for all tests; some tests need no model and run without torch."""

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

WITHOUT_TORCH = {"test_endpoint_captioner.py", "test_face_blurrer.py"}

if not (find_spec("torch") and find_spec("transformers")):
    collect_ignore = [
        path.name for path in Path(__file__).parent.glob("test_*.py")
        if path.name not in WITHOUT_TORCH
    ]  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Return the folder of a tiny model by its name."""
    import tiny_image_models as made

    root = tmp_path_factory.mktemp("image_models")

    @cache
    def saved(name: str) -> str:
        made.RECIPES[name](root / name)
        return str(root / name)

    return saved


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Use one thread: tiny matrices gain nothing from more."""
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
