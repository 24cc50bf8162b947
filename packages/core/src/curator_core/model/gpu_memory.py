"""GPU memory: detect out-of-memory errors and release cached memory before a retry."""

import gc
import sys
from contextlib import suppress

_MESSAGES = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
"""Parts of torch's messages, on GPUs of any kind and on CPUs."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether a device ran out of memory. Matches by name: torch may not be installed."""
    if type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _MESSAGES)


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
