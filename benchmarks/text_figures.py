"""The figures of the text package: races against peers, and what needs no peer.

Our compiled engine has run once before anything is timed: what it compiled is kept on disk.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree

import languages
import web
from measuring.figures import Figure
from measuring.rows import Row
from measuring.timing import in_turns, run_job
from measuring.web_pages import corpus
from text_races import ENGINES, Opponent, Sizes, count_of, find_spec, raced, workspace

MB = 1_000_000
_WORKERS = 2
_TIMES = {"python": 1, "compiled": 4}
"""How often each engine is given the corpus to divide among workers."""

DATATROVE = ("datatrove-rules", "datatrove[io]", "orjson", "regex")
DATATROVE_ENGLISH = ("datatrove-english", "datatrove[io]", "orjson", "regex", "spacy")
NEMO = ("nemo-rules", "--no-deps", "nemo-curator==1.4.0", "regex", "loguru")

OPPONENTS = {
    "datatrove": Opponent(
        "Gopher quality and repetition, C4, FineWeb, jsonl.gz to jsonl.gz, against datatrove "
        "with its own English tokenizer",
        "rules_with_curator.py",
        "rules_with_datatrove.py",
        DATATROVE_ENGLISH,
        {"python": 20, "compiled": 100},
        ("own",),
        is_slow=True,
        same_words=False,
    ),
    "datatrove-whitespace": Opponent(
        "the same against datatrove with our whitespace tokenizer",
        "rules_with_curator.py",
        "rules_with_datatrove.py",
        DATATROVE,
        {"python": 3, "compiled": 12},
        ("ours",),
    ),
    "nemo": Opponent(
        "28 English rules against NeMo Curator's, called directly",
        "english_rules_with_curator.py",
        "english_rules_with_nemo.py",
        NEMO,
        {"python": 5, "compiled": 15},
    ),
}


def two_workers(sizes: Sizes) -> Iterator[Figure]:
    pages = corpus(sizes.documents)
    with workspace() as folder:
        for engine in _engines():
            # Work that is long against the start of a worker, which does not divide among them.
            whole = _several_times(pages, _TIMES[engine], folder / f"pages for {engine}")
            yield _two_against_one(engine, whole, folder / "out", sizes.rounds)


def _two_against_one(engine: str, pages: Path, out: Path, rounds: int) -> Figure:
    kept: set[int] = set()

    def with_workers(number: int) -> float:
        rmtree(out, ignore_errors=True)
        facts = run_job(
            "rules_with_curator.py", pages, out, number,
            environment={"CURATOR_TEXT_ENGINE": engine},
        ).facts  # fmt: skip
        kept.add(facts["kept"])
        return float(facts["seconds"])

    medians, measured = in_turns({n: partial(with_workers, int(n)) for n in "12"}, rounds)
    speedup = medians["1"] / medians["2"]
    value = f"{speedup:.2f}x ({medians['1']:.1f} s, {medians['2']:.1f} s)"
    return Figure(
        f"two workers against one, the four sets, {engine}, {count_of(pages):,} pages",
        ">= 1.7x",
        value if len(kept) == 1 else f"they kept different pages: {sorted(kept)}",
        speedup >= 1.7 and len(kept) == 1,
        measured,
    )


def _several_times(pages: Path, times: int, folder: Path) -> Path:
    """A folder in which each file of a corpus stands under so many names."""
    folder.mkdir()
    for path in pages.glob("*.jsonl.gz"):
        for time in range(times):
            (folder / f"{time}-{path.name}").hardlink_to(path)
    return folder


def memory(sizes: Sizes) -> list[Figure]:
    figures = []
    with workspace() as folder:
        # Files of one size, and of the fewest as many as workers: what grows is the corpus alone.
        few = corpus(sizes.memory_documents, _WORKERS)
        many = corpus(20 * sizes.memory_documents, 20 * _WORKERS)
        for engine in _engines():

            def peak(pages: Path, engine: str = engine) -> float:
                rmtree(folder / "out", ignore_errors=True)
                return run_job(
                    "rules_with_curator.py", pages, folder / "out", _WORKERS, watch_memory=True,
                    environment={"CURATOR_TEXT_ENGINE": engine},
                ).peak_bytes / MB  # fmt: skip

            jobs = {"1x": lambda run=peak: run(few), "20x": lambda run=peak: run(many)}
            medians, measured = in_turns(jobs, max(1, sizes.rounds - 2))
            growth = medians["20x"] / medians["1x"]
            figures.append(
                Figure(
                    f"memory of the four sets, {_WORKERS} workers, {engine}, {count_of(few):,} "
                    f"pages in {_WORKERS} files and {count_of(many):,} in {20 * _WORKERS}",
                    "flat, within 20 %",
                    f"{medians['1x']:.0f} MB, then {medians['20x']:.0f} MB: {growth - 1:+.0%}",
                    growth <= 1.2,
                    measured,
                )
            )
    return figures


def from_web(sizes: Sizes) -> Iterator[Figure]:
    for row in web.ROWS.values():
        yield from row(web.Sizes(sizes.rounds, sizes.pages))


def by_language(sizes: Sizes) -> Iterator[Figure]:
    for row in languages.ROWS.values():
        yield from row(languages.Sizes(sizes.rounds, sizes.paragraphs))


def _engines() -> list[str]:
    return [engine for engine in ENGINES if engine == "python" or find_spec("numba")]


def _race(name: str) -> Row[Sizes]:
    return lambda sizes: raced(OPPONENTS[name], sizes)


ALL: dict[str, Row[Sizes]] = {
    **{name: _race(name) for name in OPPONENTS},
    "web": from_web,
    "languages": by_language,
    "workers": two_workers,
    "memory": memory,
}
