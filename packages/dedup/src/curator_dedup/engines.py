"""Engines: inner loops in numpy or compiled, with the same results."""

from curator_core.model import compilation as engines

VARIABLE = "CURATOR_DEDUP_ENGINE"


def is_compiled() -> bool:
    """Return whether to use compiled loops. `auto` uses them if numba is installed."""
    return engines.is_compiled(VARIABLE, "numpy", "curator-dedup[fast]")
