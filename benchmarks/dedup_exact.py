"""Figures of exact deduplication, against datatrove's.

The peer runs in turns with us on the same plain JSON Lines, one process each, and both write again
what stays. What counts is the CPU time of all processes of a job, from its start to its end.
"""

from collections.abc import Iterator
from pathlib import Path
from shutil import rmtree

from dedup_sizes import Sizes
from measuring.exact_copies import with_exact_copies
from measuring.figures import Figure
from measuring.peers import peer_python
from measuring.timing import in_turns, run_job
from text_races import workspace

TARGET = 6.0
DATATROVE = ("datatrove-minhash", "datatrove[io]", "orjson", "regex", "spacy", "tokenizers",
             "xxhash<4")  # fmt: skip
"""What its other ways of deduplication need is imported with this one; one environment for all. A
later xxhash takes no text, which datatrove gives it."""


def exact(sizes: Sizes) -> Iterator[Figure]:
    python = peer_python(*DATATROVE)
    yield _raced(sizes.exact, sizes.rounds, python, TARGET)
    yield _raced(sizes.exact_few, sizes.rounds, python, None)


def _raced(documents: int, rounds: int, python: str, target: float | None) -> Figure:
    folder, different = with_exact_copies(documents)
    wrong: dict[str, int] = {}
    with workspace() as desk:

        def job(who: str, python: str | None = None) -> float:
            out = desk / "out"
            rmtree(out, ignore_errors=True)
            options = {"python": python} if python else {}
            outcome = run_job(f"exact_with_{who}.py", folder, out, **options)  # type: ignore[arg-type]
            if outcome.facts["kept"] != different:
                wrong[who] = outcome.facts["kept"]
            return outcome.cpu_s

        jobs = {"ours": lambda: job("curator"), "theirs": lambda: job("datatrove", python)}
        medians, measured = in_turns(jobs, rounds)
    return _figure(documents, _told(folder, documents, medians), wrong, target, {
        "ratio": medians["theirs"] / medians["ours"], "cpu_s": measured, "different": different,
    })  # fmt: skip


def _told(folder: Path, documents: int, medians: dict[str, float]) -> str:
    size = sum(path.stat().st_size for path in folder.glob("*.jsonl"))
    rates = [documents / medians[name] for name in ("ours", "theirs")]
    return (
        f"{medians['theirs'] / medians['ours']:.1f}x ({rates[0]:,.0f} and {rates[1]:,.0f} docs per "
        f"CPU-second, {size / 1e6:,.0f} MB)"
    )


def _figure(
    documents: int, told: str, wrong: dict[str, int], target: float | None, facts: dict[str, object]
) -> Figure:
    what = f"exact, documents rewritten, against datatrove's three steps: {documents:,} documents"
    if wrong:
        found = ", ".join(f"{who} kept {kept:,}" for who, kept in wrong.items())
        told = f"recall is not 1: of {facts['different']:,} texts {found}"
    aim = f">= {target:g}x, recall 1" if target else "recall 1 (start-up weighs more)"
    is_fast = not target or float(str(facts["ratio"])) >= target
    return Figure(what, aim, told, "curator" not in wrong and is_fast, facts)
