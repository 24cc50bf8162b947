"""Histories: the events of a run, read once from its file in bounded memory.

Keeps no more of each kind than a page can show.
"""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from curator_core.run.events import event_files
from curator_core.run.journal import parsed_line

MOST_POINTS = 400
MOST_SLOW = 12
MOST_SAMPLES = 400
RECENT_S = 60.0
_CHUNK = 1 << 20


@dataclass(frozen=True, order=True)
class SlowSource:
    """A source, and how many seconds all stages together spent on it."""

    seconds: float
    label: str


@dataclass
class History:
    """A digest of a run's events. `points` are snapshots as written, by their second."""

    began: float = 0.0
    last: float = 0.0
    seconds_before: float = 0.0
    last_progress: float | None = None
    finished: int = 0
    finished_since_began: int = 0
    points: list[tuple[float, dict[str, Any]]] = field(default_factory=list)
    slowest: list[SlowSource] = field(default_factory=list)
    diagnosis: dict[str, Any] = field(default_factory=dict)
    recent: list[tuple[float, int]] = field(default_factory=list)
    """Number of sources finished in each second of the last minute or two."""

    samples: list[dict[str, Any]] = field(default_factory=list)
    """The first records that stages changed, dropped or wrote."""

    _step: int = 1
    _seen: int = 0
    _retries: bool = False

    def take(self, event: dict[str, Any]) -> None:
        kind, when = event["event"], float(event["time"])
        if kind == "sources_done":
            self._done(event, when)
        elif kind == "snapshot":
            self._snapshot(event, when)
        elif kind == "run_started":
            self.seconds_before += self.last - self.began if self.began else 0.0
            self.began = self.last_progress = when
            self.finished_since_began = 0
            self.recent.clear()
            self._retries = event.get("why") == "retry"
        elif kind == "workers_summed_up" and not self._retries:
            self.diagnosis = event
        elif kind == "sample" and (len(self.samples) < MOST_SAMPLES or event.get("is_kept")):
            self.samples.append(event)
        self.last = when

    def _done(self, event: dict[str, Any], when: float) -> None:
        number = len(event["sources"])
        self.last_progress = when
        self.finished_since_began += number
        second = float(int(when))
        if self.recent and self.recent[-1][0] == second:
            self.recent[-1] = (second, self.recent[-1][1] + number)
        else:
            self.recent.append((second, number))
            if len(self.recent) > 2 * RECENT_S:
                del self.recent[: int(RECENT_S)]
        slow = SlowSource(float(event.get("seconds", 0.0)), str(event.get("label", "")))
        if len(self.slowest) < MOST_SLOW:
            heapq.heappush(self.slowest, slow)
        elif slow > self.slowest[0]:
            heapq.heapreplace(self.slowest, slow)

    def _snapshot(self, event: dict[str, Any], when: float) -> None:
        """Keep every second, fourth, … snapshot, to limit their number.

        Snapshots of a retry are ignored: they contain only some of the stages.
        """
        if self._retries:
            return
        self._seen += 1
        if self._seen % self._step:
            return
        at = self.seconds_before + when - self.began
        self.points.append((at, event["snapshot"]))
        if len(self.points) > MOST_POINTS:
            self.points, self._step = self.points[::2], 2 * self._step

    def seconds(self, now: float) -> float:
        """Return the duration of all attempts at the run together."""
        return self.seconds_before + (now - self.began if self.began else 0.0)

    def rate(self, now: float, *, is_running: bool) -> float:
        """Return sources per second: of the last minute while running, else of the last attempt."""
        if not is_running:
            end = self.last_progress or 0.0
            return self.finished_since_began / (end - self.began) if end > self.began else 0.0
        since = max(self.began, now - RECENT_S)
        done = sum(number for second, number in self.recent if second >= since - 1)
        return done / (now - since) if now > since else 0.0


def read_history(run_dir: str) -> History:
    history = History()
    for event in events_in(run_dir):
        history.take(event)
    return history


def events_in(run_dir: str) -> Iterator[dict[str, Any]]:
    """Yield events line by line, in little memory; damaged lines are skipped."""
    fs, files = event_files(run_dir)
    for where in files:
        with fs.open(where, "rb") as file:
            for number, line in enumerate(_lines(file), start=1):
                event = parsed_line(line, where, number)
                if event is not None:
                    yield event


def _lines(file: Any) -> Iterator[bytes]:
    """Yield complete lines only: the last one may be torn or still being written."""
    rest = b""
    while chunk := file.read(_CHUNK):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole


def slowest_first(history: History) -> Iterable[SlowSource]:
    return sorted(history.slowest, reverse=True)
