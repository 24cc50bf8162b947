"""Did you mean: the nearest known name for a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to `name`, by spelling or by its last part."""
    names = sorted(set(known))
    close = get_close_matches(name, names, n=1, cutoff=0.6)
    if close:
        return close[0]
    ends = {candidate.rpartition(".")[2]: candidate for candidate in names}
    close = get_close_matches(name.rpartition(".")[2], ends, n=1, cutoff=0.7)
    return ends[close[0]] if close else None


def hint(name: str, known: Iterable[str]) -> str:
    """` (did you mean x?)`, or the known names where nothing comes near."""
    names = sorted(set(known))
    found = nearest(name, names)
    if found:
        return f" (did you mean {found}?)"
    if not names:
        return " (none is known)"
    shown = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
    return f" (known: {shown})"
