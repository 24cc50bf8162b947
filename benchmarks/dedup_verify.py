"""Figures of verification: precision and recall at each threshold, and what it costs.

A removal is right if a copy of the same item stays. Recall is the share of surplus copies that are
removed.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree
from statistics import median

from dedup_fuzzy import SHARE, engines
from dedup_sizes import Sizes
from measuring.figures import Figure
from measuring.labelled_copies import MAKERS, labelled_corpus
from measuring.near_copies import with_near_copies
from measuring.timing import Outcome, in_turns, run_job
from text_races import workspace

THRESHOLDS: tuple[float | None, ...] = (None, 0.4, 0.5, 0.6, 0.7, 0.8)
DEFAULT = 0.6
MOST_LOST = 0.03
"""Of the recall without verification."""

MOST_COST = 1.5


def verification(sizes: Sizes) -> Iterator[Figure]:
    """Precision and recall on ordinary pages and on pages made of templates."""
    for kind in MAKERS:
        corpus = labelled_corpus(kind, sizes.labelled)
        items = _items(corpus)
        unverified = 1.0
        for threshold in THRESHOLDS:
            with workspace() as folder:
                told = _run(corpus, folder, threshold).facts
                precision, recall = _quality(items, _items(folder / "out"))
            unverified = recall if threshold is None else unverified
            value = f"precision {precision:.1%}, recall {recall:.1%}"
            value += f"; {told['removed']:,} of {told['documents']:,} removed"
            if threshold is not None:
                value += (
                    f", {told['rejected_pairs']:,} of {told['compared_pairs']:,} pairs rejected"
                )
            is_default = threshold == DEFAULT
            yield Figure(
                f"{kind}, {'unverified' if threshold is None else f'verify={threshold:g}'}",
                "precision >= 99 %, recall within 3 points" if is_default else "-",
                value,
                precision >= 0.99 and recall >= unverified - MOST_LOST if is_default else None,
                {"precision": precision, "recall": recall, **told},
            )


def _quality(items: dict[int, str], kept: dict[int, str]) -> tuple[float, float]:
    """Precision and recall of what was removed."""
    removed = [item for key, item in items.items() if key not in kept]
    there = Counter(kept.values())
    right = sum(there[item] > 0 for item in removed)
    copies = Counter(items.values())
    surplus = sum(copies.values()) - len(copies)
    left = sum(there[item] - 1 for item in there)
    # What lost its only copy is wrong, and no surplus copy that was found.
    found = surplus - left
    return right / max(1, len(removed)), found / max(1, surplus)


def _items(folder: Path) -> dict[int, str]:
    return {
        record["id"]: record["item"]
        for path in folder.glob("*.jsonl")
        for record in map(json.loads, path.read_text(encoding="utf-8").splitlines())
    }


def cost(sizes: Sizes) -> Iterator[Figure]:
    """The CPU time and the time of a verified run beside one that is not."""
    corpora = {
        "ordinary pages": with_near_copies(sizes.fuzzy, SHARE).folder,
        "templates": labelled_corpus("templates", sizes.fuzzy),
    }
    for name, corpus in corpora.items():
        for engine in engines():
            for index in ("-", "index"):
                with workspace() as folder:
                    yield _cost(f"{name}, {engine}", corpus, folder, engine, index, sizes.rounds)


def _cost(name: str, corpus: Path, folder: Path, engine: str, index: str, rounds: int) -> Figure:
    walls: dict[str, list[float]] = {"verified": [], "unverified": []}
    facts: dict[str, dict[str, object]] = {}

    def timed(what: str) -> float:
        threshold = DEFAULT if what == "verified" else None
        outcome = _run(corpus, folder, threshold, engine, index)
        walls[what].append(outcome.seconds)
        facts[what] = outcome.facts
        return outcome.cpu_s

    _run(corpus, folder, DEFAULT, engine, index)  # untimed: what is compiled is kept
    jobs = {what: (lambda what=what: timed(what)) for what in walls}  # type: ignore[misc]
    medians, measured = in_turns(jobs, rounds)
    ratio = medians["verified"] / medians["unverified"]
    wall = median(walls["verified"]) / median(walls["unverified"])
    value = (
        f"{ratio:.2f}x CPU time, {wall:.2f}x time ({medians['verified']:.1f} and "
        f"{medians['unverified']:.1f} CPU-s)"
    )
    if index == "index":
        sizes = [facts[what]["bytes"]["index"] / facts[what]["kept"] for what in walls]  # type: ignore[index]
        value += f"; index: {sizes[0]:,.0f} and {sizes[1]:,.0f} bytes for each document kept"
    what = f"cost of verification, {name}{', with an index' * (index == 'index')}"
    details = {**measured, "walls": walls, "facts": facts}
    return Figure(what, f"<= {MOST_COST:g}x", value, ratio <= MOST_COST, details)


def _run(
    corpus: Path, folder: Path, threshold: float | None, engine: str = "auto", index: str = "-"
) -> Outcome:
    for name in ("out", "out-index"):
        rmtree(folder / name, ignore_errors=True)
    more = () if threshold is None else (threshold,)
    return run_job(
        "fuzzy_with_curator.py", corpus, folder / "out", 0, 42, index, 256_000_000, *more,
        environment={"CURATOR_DEDUP_ENGINE": engine},
    )  # fmt: skip
