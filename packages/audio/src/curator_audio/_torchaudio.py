"""The only module that imports torchaudio; the others say `from ... import torchaudio`.

Only SQUIM needs it, whose network is plain PyTorch. The compiled part of its wheel fails to load
beside a torch for the CPU, or for another CUDA, and pip lets any two versions meet. There it is
loaded without its compiled part, which is what torchaudio does by itself inside a .pex file.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

EXTENSION = "torchaudio._extension"


class NoExtension(ModuleType):
    """What the rest of torchaudio asks of its compiled part, answered with no."""

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
