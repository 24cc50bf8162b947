"""Kernels: functions that become machine code, which is kept between processes."""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba
import numpy as np
from numba.core import config

from curator_text.compiled.caching import kernel_folder

F = TypeVar("F", bound=Callable[..., Any])
Array: TypeAlias = np.ndarray[Any, Any]


def part(function: F) -> F:
    """A piece of kernels, compiled into those that call it. It makes no arrays.

    So it need not count who holds the arrays that it is given, which for each byte would take
    twenty times as long as to look at it.
    """
    options: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
    return cast(F, numba.njit(**options)(function))


def maker(function: F) -> F:
    """A piece of kernels that makes arrays: to be called seldom."""
    return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


def kernel(function: F) -> F:
    """What Python calls: other threads go on meanwhile, and the next process need not compile."""
    numbas: Any = config
    before = numbas.CACHE_DIR
    numbas.CACHE_DIR = str(kernel_folder())
    try:
        compiled = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    finally:
        numbas.CACHE_DIR = before  # others' functions go where others want them
    return cast(F, compiled)
