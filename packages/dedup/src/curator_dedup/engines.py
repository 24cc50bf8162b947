"""Engines: whether the inner loops are numpy's or compiled. The results are the same."""

import os
from importlib.util import find_spec
from typing import Literal, TypeAlias, get_args

from curator_core import CuratorError
from curator_core.suggestions import hint

Engine: TypeAlias = Literal["auto", "numpy", "compiled"]

VARIABLE = "CURATOR_DEDUP_ENGINE"


class EngineError(CuratorError):
    """The engine that was asked for is not there."""


def is_compiled() -> bool:
    """Whether compiled loops are to be used; `auto` takes them where numba is installed."""
    asked = os.environ.get(VARIABLE) or "auto"
    known = get_args(Engine)
    if asked not in known:
        raise EngineError(
            f"{VARIABLE} is {asked!r}{hint(asked, known)}; it must be one of {', '.join(known)}"
        )
    if asked == "numpy":
        return False
    is_there = find_spec("numba") is not None
    if asked == "compiled" and not is_there:
        raise EngineError(
            f"{VARIABLE} is 'compiled', but numba is not installed; "
            "pip install 'curator-dedup[fast]', or set it to 'auto'"
        )
    return is_there
