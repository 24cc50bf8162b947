"""Optional dependencies: what to install for an option, checked before anything runs."""

from collections.abc import Sequence
from importlib.util import find_spec


def not_installed(what: str, modules: Sequence[str], command: str) -> str | None:
    """Return which modules that `what` needs are not installed, or None if all of them are."""
    missing = [name for name in modules if not find_spec(name.partition(".")[0])]
    if not missing:
        return None
    *others, last = missing
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{what} needs {listed}, which {'are' if others else 'is'} not installed: {command}"
