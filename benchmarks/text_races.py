"""Races against peers: first the decisions are held against each other, then the time counts.

Documents that the two decide differently are told of as a share, and left out of what is timed. If
decisions differ in the timed runs all the same, there is no speed-up to report.
"""

import gzip
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree
from typing import Any, TypeAlias

from measuring.figures import Figure
from measuring.inputs import REPOSITORY
from measuring.peers import CACHE, PeerMissingError, peer_python
from measuring.timing import Outcome, in_turns, run_job
from measuring.web_pages import FILES, corpus, write

Decisions: TypeAlias = dict[str, str]
"""By the ids of those that stay, the hash of their text, where it is written."""

ENGINES = ("python", "compiled")
LEAST_ALIKE = 0.95
"""Where fewer decisions agree, the two do not do the same work."""

_PATHS = [REPOSITORY / "packages" / "text" / "src", REPOSITORY / "benchmarks" / "peers"]
_PEER_PATH = {"PYTHONPATH": ":".join(map(str, _PATHS)), "PYTHONHASHSEED": "0"}


class DecisionsDifferError(Exception):
    """Both were timed, but they did not do the same."""


@dataclass(frozen=True)
class Sizes:
    """How much work each figure is measured on."""

    rounds: int = 3
    documents: int = 40_000
    sample: int = 2000
    start: int = 100
    memory_documents: int = 8000
    pages: int = 240
    """Of a book, for HTML and archives."""

    paragraphs: int = 150
    """Of each language, to be told apart."""


QUICK = Sizes(1, 600, 200, 40, 200, 6, 10)


@dataclass(frozen=True)
class Opponent:
    """A peer, and how many times faster we mean to be by engine."""

    what: str
    ours: str
    script: str
    python: tuple[str, ...]
    targets: Mapping[str, float]
    options: tuple[str, ...] = ()
    is_slow: bool = False
    """It is shown a sample only, and its start is not counted."""
    same_words: bool = True
    """It takes the same for a word, so all decisions must agree."""


@dataclass
class Race:
    """One opponent and our engines, on pages that all of them decide alike."""

    opponent: Opponent
    sizes: Sizes
    folder: Path
    engines: list[str]
    whole: Path = field(init=False)
    sample: Path = field(init=False)

    def __post_init__(self) -> None:
        self.whole = corpus(self.sizes.documents)
        is_slow = self.opponent.is_slow and self.sizes.sample < self.sizes.documents
        self.sample = corpus(self.sizes.sample) if is_slow else self.whole
        self._python = peer_python(*self.opponent.python)

    def figures(self) -> Iterator[Figure]:
        share = self._leave_out_what_differs()
        told = f"{share:.2%} of decisions agree"
        if share < LEAST_ALIKE:
            for engine in self.engines:
                yield self._figure(engine, f"no speed-up is reported: only {told}", False, {})
            return
        try:
            medians, measured = in_turns(self._jobs(), self.sizes.rounds)
        except DecisionsDifferError as error:
            for engine in self.engines:
                yield self._figure(engine, f"no speed-up is reported: {error}", False, {})
            return
        for engine in self.engines:
            yield self._compared(engine, medians, measured, share)

    def _compared(
        self, engine: str, medians: dict[str, float], measured: dict[str, list[float]], share: float
    ) -> Figure:
        ours = medians[engine] / count_of(self.whole)
        theirs = self._their_cost(medians)
        speedup = theirs / ours
        alike = share == 1 or not self.opponent.same_words
        value = f"{speedup:.1f}x ({1 / ours:,.0f} and {1 / theirs:,.0f} pages per CPU-second); "
        value += f"{share:.2%} of decisions agree"
        value += "" if share == 1 else ", the others are left out"
        if self.sample != self.whole:
            value += f"; theirs on {count_of(self.sample):,} pages, its start not counted"
        met = speedup >= self.opponent.targets[engine] and alike
        return self._figure(engine, value, met, measured)

    def _their_cost(self, medians: dict[str, float]) -> float:
        """CPU-seconds for a page."""
        if self.sample == self.whole:
            return medians["theirs"] / count_of(self.whole)
        more = count_of(self.sample) - self.sizes.start
        return (medians["theirs"] - medians["their start"]) / more

    def _figure(self, engine: str, value: str, met: bool, details: dict[str, Any]) -> Figure:
        target = self.opponent.targets[engine]
        alike = ", identical decisions" if self.opponent.same_words else ""
        what = f"{self.opponent.what}: {engine}, {count_of(self.whole):,} pages"
        return Figure(what, f">= {target:g}x{alike}", value, met, details)

    # Decisions

    def _leave_out_what_differs(self) -> float:
        """The share of decisions that agree. It also fills the caches of compilers, untimed."""
        theirs = decisions_in(self._run_theirs(self.sample)[1])
        differing = set()
        for engine in self.engines:
            ours = decisions_in(self._run_ours(engine, self.sample)[1])
            differing |= {key for key, _ in set(ours.items()) ^ set(theirs.items())}
        share = 1 - len(differing) / count_of(self.sample)
        if differing:
            whole = self.whole
            self.whole = without(whole, differing, self.folder / "whole")
            is_one = self.sample == whole
            alone = self.folder / "sample"
            self.sample = self.whole if is_one else without(self.sample, differing, alone)
        return share

    def _jobs(self) -> dict[str, Callable[[], float]]:
        self._said: dict[str, Decisions] = {}
        ids = set(ids_of(self.sample))

        def timed(name: str, run: Callable[[], tuple[Outcome, Path]]) -> Callable[[], float]:
            def once() -> float:
                outcome, out = run()
                said = {key: text for key, text in decisions_in(out).items() if key in ids}
                if name != "their start":
                    self._hold_against_others(name, said)
                return outcome.cpu_s

            return once

        jobs = {engine: timed(engine, lambda e=engine: self._run_ours(e, self.whole))
                for engine in self.engines}  # fmt: skip
        jobs["theirs"] = timed("theirs", lambda: self._run_theirs(self.sample))
        if self.sample != self.whole:
            few = corpus(self.sizes.start)
            jobs["their start"] = timed("their start", lambda: self._run_theirs(few))
        return jobs

    def _hold_against_others(self, name: str, said: Decisions) -> None:
        for other, before in self._said.items():
            differing = {key for key, _ in set(said.items()) ^ set(before.items())}
            if differing:
                raise DecisionsDifferError(
                    f"{name} and {other} differ in {len(differing)} of the timed pages, "
                    f"such as {min(differing)}"
                )
        self._said[name] = said

    # Running

    def _run_ours(self, engine: str, pages: Path) -> tuple[Outcome, Path]:
        out = self._emptied()
        environment = {"CURATOR_TEXT_ENGINE": engine}
        return run_job(self.opponent.ours, pages, out, environment=environment), out

    def _run_theirs(self, pages: Path) -> tuple[Outcome, Path]:
        out = self._emptied()
        options = (pages, out, *self.opponent.options)
        script, python = self.opponent.script, self._python
        return run_job(script, *options, python=python, environment=_PEER_PATH), out

    def _emptied(self) -> Path:
        out = self.folder / "out"
        rmtree(out, ignore_errors=True)
        return out


def raced(opponent: Opponent, sizes: Sizes) -> list[Figure]:
    engines = [engine for engine in ENGINES if engine == "python" or find_spec("numba")]
    figures: list[Figure] = []
    try:
        with workspace() as folder:
            figures = list(Race(opponent, sizes, folder, engines).figures())
    except PeerMissingError as missing:
        return [Figure(opponent.what, "", f"no peer to compare with: {missing}", None)]
    if "compiled" not in engines:
        target = f">= {opponent.targets['compiled']:g}x"
        why = "not measured: numba is not installed (the extra `fast` of curator-text)"
        figures.append(Figure(f"{opponent.what}: compiled", target, why, None))
    return figures


@contextmanager
def workspace() -> Iterator[Path]:
    """A folder on the disk that holds the repository: a temporary one may lie in memory."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        yield Path(folder)


def records_in(folder: Path) -> Iterator[dict[str, Any]]:
    """All records below a folder, from plain or compressed JSON lines."""
    for path in sorted(folder.rglob("*.jsonl*")):
        if ".curator" in path.parts or "logs" in path.parts:
            continue
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)


def decisions_in(folder: Path) -> Decisions:
    return {
        one["id"]: hashlib.md5(one.get("text", "").encode()).hexdigest()
        for one in records_in(folder)
    }


def ids_of(folder: Path) -> list[str]:
    return [one["id"] for one in records_in(folder)]


_COUNTS: dict[Path, int] = {}


def count_of(folder: Path) -> int:
    if folder not in _COUNTS:
        _COUNTS[folder] = len(ids_of(folder))
    return _COUNTS[folder]


def without(folder: Path, ids: set[str], target: Path) -> Path:
    """The same pages but for some of them."""
    kept = [one for one in records_in(folder) if one["id"] not in ids]
    write(iter(kept), target, len(kept), FILES)
    return target
