"""Scores on the report page: a histogram for each rule, with its limits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import StageCounts
from curator_core.model.formatting import counted, share
from curator_core.model.scores import Bins, Scores, edges_of

from curator_report.histograms import Histogram, binned_histogram, number

MOST_SHOWN = 40
"""Keeps the page readable; the run directory has the scores of all stages."""

_BEGINNINGS = ("min_", "max_")
_NAMES = ("least", "most", "threshold", "at_least", "at_most")
_WITHIN = ("rule",)


def limits_in(
    options: Mapping[str, Any], score: str = "score", *, is_only: bool = True
) -> list[float]:
    """Return the limits of a score from a stage's options, including those of a rule it uses.

    Prefers limits named like the score (`max_share` for `frozen_share`). If there are none,
    returns all limits, unless the stage has other scores too.
    """
    found = dict(_limits_among(options))
    own = [limit for name, limit in found.items() if _words(name) & _words(score)]
    return own or (list(found.values()) if is_only else [])


def _limits_among(options: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for name, value in options.items():
        if not (name.startswith(_BEGINNINGS) or name in _NAMES):
            continue
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield name, float(value)
    for name in _WITHIN:
        if isinstance(options.get(name), Mapping):
            yield from _limits_among(options[name])


def _words(name: str) -> set[str]:
    return set(name.split("_")) - {"min", "max"}


@dataclass(frozen=True)
class ScoreFigure:
    """The histogram of one score of a stage."""

    title: str
    caption: str
    histogram: Histogram | None


@dataclass(frozen=True)
class ScoreFigures:
    """The scores that the page shows, and how many more there are."""

    figures: Sequence[ScoreFigure]
    hidden: int


def score_figures(
    stages: Mapping[str, StageCounts], plan: Sequence[Mapping[str, Any]]
) -> ScoreFigures:
    """Return the scores of what each stage kept and dropped."""
    options = {str(stage["name"]): stage.get("options", {}) for stage in plan}
    found = [
        (stage, name, scores)
        for stage, counts in stages.items()
        for name, scores in counts.scores.items()
        if scores
    ]
    most = sorted(found, key=lambda one: -sum(one[2].dropped.values()))[:MOST_SHOWN]
    chosen = {(stage, name) for stage, name, _ in most}
    alone = {stage: len(counts.scores) == 1 for stage, counts in stages.items()}
    figures = [
        _figure(stage, name, scores, limits_in(options.get(stage, {}), name, is_only=alone[stage]))
        for stage, name, scores in found
        if (stage, name) in chosen
    ]
    return ScoreFigures(figures, len(found) - len(figures))


def _figure(stage: str, name: str, scores: Scores, limits: Sequence[float]) -> ScoreFigure:
    title = stage if name == "score" else f"{stage}: {name}"
    caption = ", ".join(_limit_texts(scores, sorted(set(limits))))
    return ScoreFigure(title, caption, binned_histogram(scores, limits, f"{stage}: {caption}"))


def _limit_texts(scores: Scores, limits: Sequence[float]) -> Iterator[str]:
    """Describe the number of scores, and their shares on both sides of the limits."""
    kept, dropped = sum(scores.kept.values()), sum(scores.dropped.values())
    every = kept + dropped
    yield counted(every, "score")
    if dropped:
        yield f"{share(kept, every)} kept"
    if not limits:
        return
    sides = ((limits[0], "below"), (limits[-1], "above"))
    for limit, side in sides if dropped else ():
        if beyond := _beyond(scores, limit, side):
            yield f"{share(beyond, every)} {side} {number(limit)}"
    if not dropped:
        yield f"none cut at {' or '.join(map(number, limits))}"


def _beyond(scores: Scores, limit: float, side: str) -> int:
    """Count the scores on one side of a limit.

    Rules cut inside of a bin. The scores in the bin at the limit count if they were kept or
    dropped like most scores on that side.
    """
    kept, kept_here = _divided(scores.kept, limit, side)
    dropped, dropped_here = _divided(scores.dropped, limit, side)
    return kept + dropped + (kept_here if kept > dropped else dropped_here)


def _divided(bins: Bins, limit: float, side: str) -> tuple[int, int]:
    """Count the scores in bins entirely on that side, and in the bin that contains the limit."""
    beyond = here = 0
    for place, times in bins.items():
        low, high = edges_of(place)
        if low <= limit < high:
            here += times
        elif (low < limit) == (side == "below"):
            beyond += times
    return beyond, here
