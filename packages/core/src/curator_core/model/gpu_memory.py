"""GPU memory: detect out-of-memory errors and release cached memory before a retry."""

import gc
import sys
from contextlib import suppress

_SIGNS = ("CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether a GPU ran out of memory. Matches by name: torch may not be installed."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def empty_device_cache() -> None:
    """Release the GPU memory that torch caches.

    Call this outside the `except` block: while the error is alive, its traceback keeps tensors
    alive.
    """
    gc.collect()
    torch = sys.modules.get("torch")
    with suppress(AttributeError, RuntimeError):  # torch is half imported, or the device failed
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.empty_cache()
