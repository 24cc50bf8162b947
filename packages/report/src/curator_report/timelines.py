"""Timelines: plots of workers and queues over time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Any, ClassVar

from curator_core.model.formatting import count, counted
from curator_core.model.snapshot import IN_SHORT

from curator_report.history import History

_WIDTH, _HEIGHT = 600, 110
_MOST_LINES = 5
_STATES = ("busy", "idle", "starting", "stopping")
Point = tuple[float, dict[str, Any]]
_AT = {name: place for place, name in enumerate(IN_SHORT)}


@dataclass(frozen=True)
class Curve:
    """A line, or the outline of an area, and its colour."""

    name: str
    colour: int
    points: str


@dataclass(frozen=True)
class TimePlot:
    """One plot, with the same curves in its legend."""

    title: str
    highest: str
    """The value at the top, with its unit."""

    seconds: float
    shape: str
    curves: Sequence[Curve]

    width: ClassVar = _WIDTH
    height: ClassVar = _HEIGHT


def timelines(history: History, names: Sequence[str]) -> list[TimePlot]:
    """Return the plots; none for a run of less than a second."""
    points = history.points
    if len(points) < 3 or points[-1][0] - points[0][0] < 1.0:
        return []
    colours: dict[str, int] = {}
    plots = [_workers(points), _speeds(points, names, colours), _queues(points, names, colours)]
    return [plot for plot in plots if plot is not None]


def _workers(points: list[Point]) -> TimePlot | None:
    """Stack the states of workers, busy ones at the bottom."""
    points = [point for point in points if point[1]["workers"]]
    if len(points) < 2:
        return None
    states = [s for s in _STATES if any(snapshot["workers"].get(s) for _, snapshot in points)]
    most = max(sum(snapshot["workers"].values()) for _, snapshot in points) or 1
    curves, below = [], [0.0] * len(points)
    for number, state in enumerate(states):
        above = [
            low + snapshot["workers"].get(state, 0)
            for low, (_, snapshot) in zip(below, points, strict=True)
        ]
        outline = [*_scaled(points, above, most), *reversed(_scaled(points, below, most))]
        curves.append(Curve(state, number, " ".join(outline)))
        below = above
    return TimePlot("Workers", counted(most, "worker"), points[-1][0], "polygon", curves)


def _speeds(points: list[Point], names: Sequence[str], colours: dict[str, int]) -> TimePlot | None:
    """Plot the average number of workers busy in each stage."""
    seconds = [max(after[0] - before[0], 1e-3) for before, after in pairwise(points)]
    spent = [_spent(points, place) for place in range(len(names))]
    rooms = [most * long for most, long in zip(_at_most(points[1:]), seconds, strict=True)]
    rates = [
        [busy / long for busy, long in zip(row, seconds, strict=True)]
        for row in _moved_back(spent, rooms)
    ]
    return _lines(
        "At work, by stage",
        points,
        names,
        lambda place: [rates[place][0], *rates[place]],
        "workers",
        colours,
    )


def _spent(points: list[Point], place: int) -> list[float]:
    busy = [_of(snapshot, place, "busy_s") for _, snapshot in points]
    return [max(0.0, after - before) for before, after in pairwise(busy)]


def _at_most(points: list[Point]) -> list[float]:
    """Return how many workers could be busy; if unknown, the most ever seen, or infinity."""
    counts = [float(sum(snapshot["workers"].values())) for _, snapshot in points]
    return [workers or max(counts) or inf for workers in counts]


def _moved_back(spent: list[list[float]], rooms: Sequence[float]) -> list[list[float]]:
    """Spread long calls, which are reported at their end, back over the time before it.

    What the workers cannot have done since the previous point must have happened earlier.
    """
    moved = [list(row) for row in spent]
    carried = [0.0] * len(spent)
    for place in reversed(range(len(rooms))):
        amounts = [row[place] + more for row, more in zip(spent, carried, strict=True)]
        total = sum(amounts)
        part = min(1.0, rooms[place] / total) if total else 1.0
        for row, amount in zip(moved, amounts, strict=True):
            row[place] = amount * part
        carried = [amount * (1 - part) for amount in amounts]
    return moved


def _queues(points: list[Point], names: Sequence[str], colours: dict[str, int]) -> TimePlot | None:
    def waiting(place: int) -> list[float]:
        return [_of(snapshot, place, "queue_tasks") for _, snapshot in points]

    return _lines("Waiting, by stage", points, names, waiting, "tasks", colours)


def _of(snapshot: dict[str, Any], place: int, name: str) -> float:
    stages = snapshot["stages"]
    return float(stages[place][_AT[name]]) if place < len(stages) else 0.0


def _lines(
    title: str,
    points: list[Point],
    names: Sequence[str],
    figures: Callable[[int], list[float]],
    unit: str,
    colours: dict[str, int],
) -> TimePlot | None:
    """Plot the busiest stages, each in the colour of the earlier plots."""
    found = [(sum(row), name, row) for place, name in enumerate(names) if (row := figures(place))]
    shown = sorted((one for one in found if one[0] > 0), reverse=True)[:_MOST_LINES]
    if not shown:
        return None
    most = max(max(row) for _, _, row in shown) or 1.0
    colours |= _coloured([name for _, name, _ in shown], colours)
    curves = [
        Curve(name, colours[name], " ".join(_scaled(points, row, most))) for _, name, row in shown
    ]
    highest = count(most) if most >= 10 else f"{most:.2g}"
    return TimePlot(title, f"{highest} {unit}", points[-1][0], "polyline", curves)


def _coloured(names: Sequence[str], before: Mapping[str, int]) -> dict[str, int]:
    """Choose colours for new names: unused ones first, then those not used in this plot."""
    taken = {before[name] for name in names if name in before}
    ranked = sorted(range(_MOST_LINES), key=lambda number: number in before.values())
    free = (number for number in ranked if number not in taken)
    return {name: next(free) for name in names if name not in before}


def _scaled(points: list[Point], figures: Sequence[float], most: float) -> list[str]:
    start, end = points[0][0], points[-1][0]
    span = max(end - start, 1e-9)
    return [
        f"{_WIDTH * (at - start) / span:.1f},{_HEIGHT - _HEIGHT * value / most:.1f}"
        for (at, _), value in zip(points, figures, strict=True)
    ]
