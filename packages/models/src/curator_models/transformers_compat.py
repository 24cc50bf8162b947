"""transformers: import it next to a broken torchaudio, silence it, and explain its errors."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from curator_models.hub import ModelError, first_line


@cache
def import_transformers() -> Any:
    """Return the library, even if the installed torchaudio cannot be loaded.

    The Linux wheel of torchaudio is linked against CUDA and fails with a CPU-only torch.
    transformers imports it if it is installed, though text models do not need it. The check for
    torchaudio runs here, once; transformers caches its result.
    """
    with _hidden_if_broken("torchaudio"):
        import transformers as library
        from transformers.utils import is_torchaudio_available

        is_torchaudio_available()
    return library


@contextmanager
def _hidden_if_broken(name: str) -> Iterator[None]:
    """Hide a package that cannot be loaded, as if it were not installed."""
    if name in sys.modules or _is_loadable(name):
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


def _is_loadable(name: str) -> bool:
    try:
        __import__(name)
    except (ImportError, OSError):
        for part in [part for part in sys.modules if part.partition(".")[0] == name]:
            del sys.modules[part]
        return False
    return True


@contextmanager
def loading_errors(folder: Path) -> Iterator[None]:
    """Raise errors of transformers about a folder as a ModelError with one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise ModelError(f"cannot load a model from {folder}: {first_line(error)}") from error


@contextmanager
def silenced(library: Any) -> Iterator[None]:
    """Silence the progress bars and reports of transformers; problems that matter are raised."""
    logging = library.utils.logging
    level, had_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if had_bars:
            logging.enable_progress_bar()
