"""Measures the text package: `hatch run bench:text [--quick] [--only NAME …]`.

Peers run in environments of their own, in turns with us, on the same pages. What counts is the CPU
time of all processes of a job, from its start to its end. Keep the machine quiet.
"""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from measuring.figures import Figure, save, show
from measuring.timing import JobFailedError
from text_figures import ALL
from text_races import QUICK, Sizes

RESULTS = Path(__file__).parent / "results" / "text.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--only", nargs="+", choices=ALL, metavar="NAME", default=list(ALL),
                        help=f"of {', '.join(ALL)}")  # fmt: skip
    parser.add_argument("--documents", type=int, help="how many pages; 40,000 unless given")
    parser.add_argument("--rounds", type=int, help="how often each job runs; 3 unless given")
    parser.add_argument("--json", type=Path, help="where the results go as JSON")
    wanted = parser.parse_args()
    sizes = QUICK if wanted.quick else Sizes()
    given = {"documents": wanted.documents, "rounds": wanted.rounds}
    sizes = replace(sizes, **{name: value for name, value in given.items() if value})
    figures = [figure for name in wanted.only for figure in _measured(name, sizes)]
    show(figures)
    results = wanted.json or (None if wanted.quick else RESULTS)
    if results is not None:
        save(figures, results)
        print(f"All measurements: {results}")
    if wanted.quick:
        print("These sizes are far too small to judge by: leave out --quick for that.")
    return 0 if all(figure.met is not False for figure in figures) else 1


def _measured(name: str, sizes: Sizes) -> list[Figure]:
    print(f"measuring: {name}", file=sys.stderr)
    try:
        return ALL[name](sizes)
    except JobFailedError as error:
        print(error.said, file=sys.stderr)
        return [Figure(name, "", f"failed: {error}", False)]


if __name__ == "__main__":
    sys.exit(main())
