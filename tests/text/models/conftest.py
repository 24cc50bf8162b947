"""Tiny models, saved once; tests that need none also run without torch."""

import sys
from collections.abc import Callable, Iterator
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
    """Return a function from the name of a tiny model to its folder."""
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
    """Use one thread: tiny matrices gain nothing from more."""
    if find_spec("torch"):
        import torch

        torch.set_num_threads(1)


@pytest.fixture(scope="module", autouse=True)
def _without_garbage_collection() -> Iterator[None]:
    """Tiny models hold no GPU memory, and each collection takes a fifth of a second."""
    if not find_spec("torch"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("curator_text.models.base.empty_device_cache", lambda: None)
        yield
