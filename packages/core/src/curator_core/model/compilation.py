"""Whether inner loops are compiled with numba, as set by environment variables."""

import os
from importlib.util import find_spec

from curator_core.errors import CuratorError, hint


class EngineError(CuratorError):
    """The requested engine is not available."""


def is_compiled(variable: str, plain: str, extra: str) -> bool:
    """Return whether to compile inner loops.

    The environment variable is "auto" (compile if numba is installed; the default), "compiled", or
    `plain`. `extra` is the pip requirement that installs numba.
    """
    asked = os.environ.get(variable) or "auto"
    known = ("auto", plain, "compiled")
    if asked not in known:
        raise EngineError(
            f"{variable} is {asked!r}{hint(asked, known)}; it must be one of {', '.join(known)}"
        )
    if asked == plain:
        return False
    is_there = find_spec("numba") is not None
    if asked == "compiled" and not is_there:
        raise EngineError(
            f"{variable} is 'compiled', but numba is not installed; "
            f"pip install '{extra}', or set it to 'auto'"
        )
    return is_there
