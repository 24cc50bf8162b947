"""Decorators that compile functions with numba."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import config

from curator_text.compiled.cache import kernel_folder

F = TypeVar("F", bound=Callable[..., Any])
Array: TypeAlias = np.ndarray[Any, Any]


def part(function: F) -> F:
    """Compile a function for use inside kernels only. It may not allocate arrays.

    It therefore needs no reference counts for its arrays, which per byte would cost twenty times as
    much as reading the byte.
    """
    options: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
    return cast(F, numba.njit(**options)(function))


def maker(function: F) -> F:
    """Compile a function for use inside kernels that allocates arrays: call it rarely."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def kernel(function: F) -> F:
    """Compile a function that Python calls. It releases the GIL, and its code is cached on disk."""
    numbas: Any = config
    before = numbas.CACHE_DIR
    numbas.CACHE_DIR = str(kernel_folder() or "")
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    finally:
        numbas.CACHE_DIR = before  # leave the setting of other packages alone
    return cast(F, compiled)
