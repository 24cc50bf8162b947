"""Tiny models, saved once for all tests; the tests that need none run without torch too."""

import sys
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

WITHOUT_TORCH = {"test_fasttext.py", "test_imports.py"}

if not (find_spec("torch") and find_spec("transformers")):
    collect_ignore = [
        path.name for path in Path(__file__).parent.glob("test_*.py")
        if path.name not in WITHOUT_TORCH
    ]  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """The folder of a tiny model by its name."""
    import tiny_models as made

    root = tmp_path_factory.mktemp("models")
    recipes: dict[str, Callable[[Path], object]] = {
        "quality": lambda folder: made.save_first_token_model(folder, ["High", "Medium", "Low"]),
        "bare": lambda folder: made.save_first_token_model(folder, ["A", "B"], whole=False),
        "labels": lambda folder: made.save_sequence_model(folder, ["good", "bad", "ugly"]),
        "score": lambda folder: made.save_sequence_model(folder, ["LABEL_0"]),
        "prompts": made.save_prompt_model,
        "causal": lambda folder: made.save_causal_model(
            folder, "the {{ messages[0]['content'] }} now"
        ),
        "guard": made.save_guard,
        "adapter": lambda folder: made.save_adapter(folder, "model.layers.1.self_attn.q_proj"),
        "sentences": lambda folder: made.save_sentence_model(
            folder, {"pooling_mode_mean_tokens": True}, normalize=True
        ),
    }

    @cache
    def saved(name: str) -> str:
        recipes[name](root / name)
        return str(root / name)

    return saved


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Tiny matrices gain nothing by threads, and lose much where others use the cores."""
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)
