"""Importing transformers, also where a torchaudio is installed that cannot be loaded.

The Linux wheel of torchaudio is linked against CUDA and fails beside a CPU-only torch.
transformers imports it wherever it is installed, though no model of text needs it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_AUDIO = "torchaudio"


@cache
def transformers() -> Any:
    """The library, which has asked once what there is beside it, and remembers."""
    with _hidden_where_broken(_AUDIO):
        import transformers as library
        from transformers.utils import is_torchaudio_available

        is_torchaudio_available()
    return library


@contextmanager
def _hidden_where_broken(name: str) -> Iterator[None]:
    """Let a package that cannot be loaded look as if it were not there."""
    if name in sys.modules or _loads(name):
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


def _loads(name: str) -> bool:
    try:
        __import__(name)
    except (ImportError, OSError):
        for part in [part for part in sys.modules if part.partition(".")[0] == name]:
            del sys.modules[part]
        return False
    return True
