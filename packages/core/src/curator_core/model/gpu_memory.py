"""GPU memory: detect out-of-memory errors and release cached memory before a retry."""

import gc
import sys
from contextlib import suppress

_SIGNS = ("CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device had no room; told by its name, since torch may not even be installed."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def empty_device_cache() -> None:
    """Leave to others what torch keeps for later. To be called when the error itself is let go."""
    gc.collect()
    torch = sys.modules.get("torch")
    with suppress(AttributeError, RuntimeError):  # half imported; or the device itself is broken
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
