"""The figures of exact deduplication, of which `benchmarks/dedup.py` shows all: `figures()`.

The peer runs in turns with us on the same plain JSON Lines, one process each, and both write again
what stays. What counts is the CPU time of all processes of a job, from its start to its end.
"""

from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

from measuring.exact_copies import with_exact_copies
from measuring.figures import Figure
from measuring.peers import PeerMissingError, peer_python
from measuring.timing import in_turns, run_job
from text_races import workspace

TARGET = 6.0
DATATROVE = ("datatrove-minhash", "datatrove[io]", "orjson", "regex", "spacy", "tokenizers",
             "xxhash<4")  # fmt: skip
"""What its other ways of deduplication need is imported with this one; one environment for all. A
later xxhash takes no text, which datatrove gives it."""


@dataclass(frozen=True)
class Sizes:
    """How much work each figure is measured on."""

    rounds: int = 3
    documents: int = 160_000
    few: int = 40_000
    """Once more on these, where starting up weighs more."""


QUICK = Sizes(1, 800, 200)


def figures(sizes: Sizes | None = None) -> list[Figure]:
    sizes = sizes or Sizes()
    try:
        python = peer_python(*DATATROVE)
    except PeerMissingError as missing:
        return [Figure("exact", "", f"no peer to compare with: {missing}", None)]
    return [
        _raced(sizes.documents, sizes.rounds, python, TARGET),
        _raced(sizes.few, sizes.rounds, python, None),
    ]


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
