"""Measures deduplication: `hatch run bench:dedup [--quick] [--only NAME …]`.

Peers run in environments of their own, in turns with us, on the same documents. What counts is the
CPU time of all processes of a job, from its start to its end. Keep the machine quiet.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import dedup_exact
import dedup_fuzzy
import dedup_passages
import dedup_semantic
import dedup_sentences
import dedup_signatures
from measuring.figures import Figure, save, show
from measuring.timing import JobFailedError

RESULTS = Path(__file__).parent / "results" / "dedup.json"

Measured = Callable[[bool], list[Figure]]


def _fuzzy(name: str) -> Measured:
    measured = dedup_fuzzy.ALL[name]
    return lambda quick: measured(dedup_fuzzy.QUICK if quick else dedup_fuzzy.Sizes())


ALL: dict[str, Measured] = {
    "exact": lambda quick: dedup_exact.figures(dedup_exact.QUICK if quick else None),
    **{name: _fuzzy(name) for name in dedup_fuzzy.ALL},
    "signatures": lambda quick: dedup_signatures.figures(
        dedup_signatures.QUICK_PAIRS if quick else dedup_signatures.PAIRS
    ),
    "passages": lambda quick: dedup_passages.figures(dedup_passages.QUICK if quick else None),
    "sentences": lambda quick: dedup_sentences.figures(dedup_sentences.QUICK if quick else None),
    "semantic": lambda quick: dedup_semantic.figures(dedup_semantic.QUICK if quick else None),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--only", nargs="+", choices=ALL, metavar="NAME", default=list(ALL),
                        help=f"of {', '.join(ALL)}")  # fmt: skip
    parser.add_argument("--json", type=Path, help="where the results go as JSON")
    wanted = parser.parse_args()
    figures = [figure for name in wanted.only for figure in _measured(name, wanted.quick)]
    show(figures)
    results = wanted.json or (None if wanted.quick else RESULTS)
    if results is not None:
        save(figures, results)
        print(f"All measurements: {results}")
    if wanted.quick:
        print("These sizes are far too small to judge by: leave out --quick for that.")
    return 0 if all(figure.met is not False for figure in figures) else 1


def _measured(name: str, quick: bool) -> list[Figure]:
    print(f"measuring: {name}", file=sys.stderr)
    try:
        return ALL[name](quick)
    except JobFailedError as error:
        print(error.said, file=sys.stderr)
        return [Figure(name, "", f"failed: {error}", False)]


if __name__ == "__main__":
    sys.exit(main())
