"""Figures of fuzzy deduplication: speed and recall beside datatrove, memory, components.

Peers run in turns with us on the same documents, which both of them write again. What counts is the
CPU time of all processes of a job, from its start to its end.
"""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import rmtree

from dedup_exact import DATATROVE
from dedup_sizes import Sizes
from measuring.figures import Figure
from measuring.near_copies import Corpus, Pair, with_near_copies
from measuring.peers import peer_python
from measuring.timing import Outcome, in_turns, run_job
from text_races import workspace

MB = 1_000_000
ENGINES = ("numpy", "compiled")
BANDS, ROWS = 14, 8
SCIPY = ("scipy", "numpy", "scipy")
BINS = ((0.5, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01))
WORKERS = 2
"""For memory, which each of them needs."""
SHARE = 0.15
"""Of the documents that are timed, so many are near copies of others."""


@dataclass(frozen=True)
class Opponent:
    what: str
    tokenizer: str
    targets: dict[str, float]
    is_slow: bool


OPPONENTS = (
    Opponent("its whitespace tokenizer", "whitespace", {"numpy": 3, "compiled": 10}, False),
    Opponent("its own English tokenizer", "own", {"numpy": 20, "compiled": 80}, True),
)


def engines() -> list[str]:
    return [engine for engine in ENGINES if engine == "numpy" or find_spec("numba")]


# Speed


def speed(sizes: Sizes) -> Iterator[Figure]:
    for opponent in OPPONENTS:
        with workspace() as folder:
            yield from _raced(opponent, sizes, folder)


def _raced(opponent: Opponent, sizes: Sizes, folder: Path) -> Iterator[Figure]:
    whole = with_near_copies(sizes.fuzzy, SHARE)
    sample = with_near_copies(sizes.sample, SHARE) if opponent.is_slow else whole
    jobs: dict[str, Callable[[], float]] = {
        engine: lambda engine=engine: _ours(whole, folder, engine)[0].cpu_s  # type: ignore[misc]
        for engine in engines()
    }
    for engine in engines():  # untimed: what is compiled is kept
        _ours(with_near_copies(sizes.start, SHARE), folder, engine)
    jobs["theirs"] = lambda: _theirs(sample, folder, opponent.tokenizer)[0].cpu_s
    if opponent.is_slow:
        few = with_near_copies(sizes.start, SHARE)
        jobs["their start"] = lambda: _theirs(few, folder, opponent.tokenizer)[0].cpu_s
    medians, measured = in_turns(jobs, sizes.rounds)
    theirs = medians["theirs"] / whole.documents
    if opponent.is_slow:
        more = sample.documents - sizes.start
        theirs = (medians["theirs"] - medians["their start"]) / more
    for engine in engines():
        ours = medians[engine] / whole.documents
        value = f"{theirs / ours:.1f}x ({1 / ours:,.0f} and {1 / theirs:,.0f} docs per CPU-second)"
        if opponent.is_slow:
            value += f"; theirs on {sample.documents:,} documents, its start not counted"
        what = (
            f"fuzzy, documents rewritten, against datatrove's four steps with {opponent.what}: "
            f"{engine}, {whole.documents:,} documents"
        )
        target = opponent.targets[engine]
        yield Figure(what, f">= {target:g}x", value, theirs / ours >= target, measured)


def _ours(
    corpus: Corpus, folder: Path, engine: str, *more: object, watch: bool = False
) -> tuple[Outcome, Path]:
    out = _emptied(folder)
    outcome = run_job(
        "fuzzy_with_curator.py", corpus.folder, out, *(more or (0,)),
        environment={"CURATOR_DEDUP_ENGINE": engine}, watch_memory=watch,
    )  # fmt: skip
    return outcome, out


def _theirs(corpus: Corpus, folder: Path, tokenizer: str, seed: int = 1) -> tuple[Outcome, Path]:
    out = _emptied(folder)
    script, python = "fuzzy_with_datatrove.py", peer_python(*DATATROVE)
    return run_job(script, corpus.folder, out, tokenizer, seed, python=python), out / "data"


def _emptied(folder: Path) -> Path:
    for name in ("out", "out-index"):
        rmtree(folder / name, ignore_errors=True)
    return folder / "out"


# Recall


def recall(sizes: Sizes) -> list[Figure]:
    """Of planted pairs, how many are no longer both there: beside datatrove, and by itself."""
    corpus = with_near_copies(sizes.recall, 0.5, words=120)
    ours: list[set[str]] = []
    theirs: list[set[str]] = []
    with workspace() as folder:
        for seed in range(1, sizes.seeds + 1):
            ours.append(_ids(_ours(corpus, folder, "numpy", 0, seed)[1]))
            theirs.append(_ids(_theirs(corpus, folder, "whitespace", seed)[1]))
    pairs = corpus.pairs
    figures = [_bin(pairs, low, high, ours, theirs) for low, high in BINS]
    high = _found([pair for pair in pairs if pair.jaccard >= 0.8], ours)
    ideal = _ideal([pair for pair in pairs if pair.jaccard >= 0.8])
    figures.append(
        Figure(
            "recall of planted pairs above .8",
            ">= .99",
            f"{high:.4f} (the formula of the bands: {ideal:.4f})",
            high >= 0.99,
        )
    )
    return [*figures, _precision(corpus, ours)]


def _bin(
    pairs: list[Pair], low: float, high: float, ours: list[set[str]], theirs: list[set[str]]
) -> Figure:
    here = [pair for pair in pairs if low <= pair.jaccard < high]
    mine, others = _found(here, ours), _found(here, theirs)
    value = f"{mine:.1%} and {others:.1%}: {100 * (mine - others):+.1f} points"
    chance = 100 * math.sqrt(2 * others * (1 - others) / max(1, len(here) * len(theirs)))
    value += f" ± {chance:.1f} by chance (the formula: {_ideal(here):.1%}; "
    value += f"{len(here):,} pairs, {len(ours)} seeds)"
    what = f"recall of planted pairs of Jaccard {low:g} to {min(high, 1):g}, ours and datatrove's"
    return Figure(what, "within 1 point", value, abs(mine - others) <= 0.01)


def _found(pairs: list[Pair], kept: list[set[str]]) -> float:
    gone = sum(not (p.original in ids and p.copy in ids) for ids in kept for p in pairs)
    return gone / max(1, len(pairs) * len(kept))


def _ideal(pairs: list[Pair]) -> float:
    chances = [1 - (1 - pair.jaccard**ROWS) ** BANDS for pair in pairs]
    return sum(chances) / max(1, len(chances))


def _precision(corpus: Corpus, kept: list[set[str]]) -> Figure:
    paired = {key for pair in corpus.pairs for key in (pair.original, pair.copy)}
    every = _ids(corpus.folder)
    removed = [key for ids in kept for key in every - ids]
    right = sum(key in paired for key in removed) / max(1, len(removed))
    value = f"{right:.5f} of {len(removed):,} removed"
    return Figure("precision of what is removed", ">= .999", value, right >= 0.999)


def _ids(folder: Path) -> set[str]:
    return {
        json.loads(line)["id"]
        for path in folder.glob("*.jsonl")
        for line in path.read_text(encoding="utf-8").splitlines()
    }


# Memory, and what a billion documents need


def memory(sizes: Sizes) -> list[Figure]:
    # Files of one size, a block each, and as many as workers: what grows is the corpus alone.
    few, many = (
        with_near_copies(times * sizes.memory, SHARE, files=times * WORKERS) for times in (1, 20)
    )
    block = 1 + max(file.stat().st_size for file in few.folder.glob("*.jsonl"))
    figures = []
    with workspace() as folder:
        for engine in engines():
            _ours(few, folder, engine)
            peaks, facts = [], {}
            for corpus in (few, many):
                outcome, _ = _ours(corpus, folder, engine, WORKERS, 42, "index", block, watch=True)
                peaks.append(outcome.peak_bytes / MB)
                facts = outcome.facts
            growth = peaks[1] / peaks[0]
            index = facts["bytes"]["index"] / many.documents
            value = f"{peaks[0]:.0f} MB, then {peaks[1]:.0f} MB: {growth - 1:+.0%}; "
            value += f"index on disk: {index:.0f} bytes a document"
            what = (
                f"memory of fuzzy, {WORKERS} workers, {engine}, {few.documents:,} documents in "
                f"{WORKERS} files and {many.documents:,} in {20 * WORKERS}"
            )
            figures.append(Figure(what, "flat, within 20 %", value, growth <= 1.2, facts))
    return [*figures, *projection(facts, many.documents)]


def projection(facts: dict[str, dict[str, float]], documents: int) -> Iterable[Figure]:
    """What a billion documents would need, by what so many did."""
    scale = 1e9 / documents / 1e9
    gb = {name: size * scale for name, size in facts["bytes"].items()}
    rate = documents / float(facts["seconds"])  # type: ignore[arg-type]
    value = (
        f"bands {gb['bands']:,.0f} GB, links {gb['links']:,.0f} GB, members "
        f"{gb['members']:,.0f} GB, index {gb['index']:,.0f} GB; the text is read twice, the bands "
        f"once, links and members once or a few times; {1e9 / rate / 3600:,.0f} hours on one "
        f"machine like this, divided by N on N of them"
    )
    yield Figure("projected for 1e9 documents", "printed", value, None)


# Components


def components(sizes: Sizes) -> list[Figure]:
    python = peer_python(*SCIPY)
    found: set[int] = set()

    def timed(who: str, interpreter: str = sys.executable) -> float:
        facts = run_job("find_components.py", who, sizes.edges, python=interpreter).facts
        found.add(facts["components"])
        return float(facts["cpu_s"])

    jobs = {"ours": lambda: timed("curator"), "scipy": lambda: timed("scipy", python)}
    medians, measured = in_turns(jobs, sizes.rounds)
    ratio = medians["scipy"] / medians["ours"]
    rates = [sizes.edges / medians[name] / MB for name in jobs]
    value = f"{ratio:.2f}x scipy's speed ({rates[0]:.1f} and {rates[1]:.1f} M edges/s)"
    if len(found) > 1:
        value = f"they found different numbers of components: {sorted(found)}"
    what = f"components of {sizes.edges:,} links in memory"
    return [Figure(what, ">= 0.5x scipy's", value, ratio >= 0.5 and len(found) == 1, measured)]
