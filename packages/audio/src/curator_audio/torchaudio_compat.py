"""Import torchaudio in a way that works with any torch: import `torchaudio` from here.

This is the only module that imports it. Only SQUIM needs it, and its network is plain PyTorch. The
compiled part of the wheel fails to load next to a CPU build of torch or one for another CUDA
version, and pip allows any combination. In that case torchaudio is loaded without its compiled
part, as torchaudio itself does inside a .pex file.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

EXTENSION = "torchaudio._extension"


class NoExtension(ModuleType):
    """Replacement for the compiled part of torchaudio that reports all its features as missing."""

    _IS_TORCHAUDIO_EXT_AVAILABLE = False
    _IS_ALIGN_AVAILABLE = False

    @staticmethod
    def fail_if_no_align(function: Callable[..., Any]) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> None:
            raise RuntimeError(
                f"torchaudio's {function.__name__} is compiled code, and the torchaudio "
                "installed here was not built for this torch: install a matching pair"
            )

        return refuse


def forget_torchaudio() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchaudio"]:
        del sys.modules[name]


try:
    import torchaudio
except (OSError, RuntimeError, ImportError) as error:
    if isinstance(error, ModuleNotFoundError):
        raise
    forget_torchaudio()
    sys.modules[EXTENSION] = NoExtension(EXTENSION)
    import torchaudio

__all__ = ["torchaudio"]
