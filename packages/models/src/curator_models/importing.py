"""Importing transformers, even if the installed torchaudio cannot be loaded.

The Linux wheel of torchaudio is linked against CUDA and fails with a CPU-only torch. transformers
imports it if it is installed, though text models do not need it.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

_AUDIO = "torchaudio"


@cache
def transformers() -> Any:
    """Return the library, after it has checked for torchaudio once and cached the result."""
    with _hidden_where_broken(_AUDIO):
        import transformers as library
        from transformers.utils import is_torchaudio_available

        is_torchaudio_available()
    return library


@contextmanager
def _hidden_where_broken(name: str) -> Iterator[None]:
    """Hide a package that cannot be loaded, as if it were not installed."""
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
