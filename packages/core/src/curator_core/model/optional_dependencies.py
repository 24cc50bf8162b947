"""Optional dependencies: what is missing, what to install, and what works without it."""

import os
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from curator_core.errors import CuratorError, hint

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class NotInstalledError(CuratorError, ImportError):
    """A library is not installed that a method needs. The message says what to install."""


def not_installed(what: str, modules: Sequence[str], command: str) -> str | None:
    """Return which modules that `what` needs are not installed, or None if all of them are."""
    missing = [name for name in modules if not find_spec(name.partition(".")[0])]
    if not missing:
        return None
    *others, last = missing
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{what} needs {listed}, which {'are' if others else 'is'} not installed: {command}"


def import_if_installed(module: str) -> Any:
    """Import and return the module, or None if its package is not installed."""
    return import_module(module) if find_spec(module.partition(".")[0]) else None


def to_data_frame(table: "pa.Table") -> "pd.DataFrame":
    """Return the table as a data frame; raise if pandas is not installed."""
    missing = not_installed("to_pandas()", ["pandas"], "pip install pandas")
    if missing:
        raise NotInstalledError(missing)
    return table.to_pandas()


def notebook_view(kind: str, thing: object) -> str | None:
    """Return the HTML that notebooks show; without curator-report, they show the `repr`."""
    notebook = import_if_installed("curator_report.notebook")
    return None if notebook is None else str(getattr(notebook, f"{kind}_html")(thing))


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
