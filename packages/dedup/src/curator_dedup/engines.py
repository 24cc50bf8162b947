"""Engines: whether the inner loops are numpy's or compiled. The results are the same."""

from curator_core.model import compilation as engines

VARIABLE = "CURATOR_DEDUP_ENGINE"


def is_compiled() -> bool:
    """Whether compiled loops are to be used; `auto` takes them where numba is installed."""
    return engines.is_compiled(VARIABLE, "numpy", "curator-dedup[fast]")
