"""Two sides in turns: CPU seconds, those of processes that are waited for included."""

from collections.abc import Callable

from measuring.figures import Figure
from measuring.spending import cpu_seconds, faster
from measuring.timing import in_turns


def against(
    what: str,
    least: float,
    rounds: int,
    ours: Callable[[], object],
    theirs: Callable[[], object],
) -> Figure:
    """How many times as much they spend."""
    works = {"ours": lambda: cpu_seconds(ours), "theirs": lambda: cpu_seconds(theirs)}
    seconds, every = in_turns(works, rounds)
    return faster(what, least, seconds, every, peer="theirs")
