"""Measures the foundation: `hatch run bench:core [--quick] [--only NAME …]`.

Everything runs in processes of its own, in turns, and the median counts. Keep the machine quiet.
"""

import argparse
import sys
from pathlib import Path

from core_figures import ALL, QUICK, Sizes
from measuring.figures import Figure, save, show
from measuring.timing import JobFailedError

RESULTS = Path(__file__).parent / "results" / "core.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--only", nargs="+", choices=ALL, metavar="NAME", default=list(ALL),
                        help=f"of {', '.join(ALL)}")  # fmt: skip
    parser.add_argument("--json", type=Path, default=RESULTS, help="where the results go as JSON")
    wanted = parser.parse_args()
    sizes = QUICK if wanted.quick else Sizes()
    figures = [_measured(name, sizes) for name in wanted.only]
    show(figures)
    save(figures, wanted.json)
    print(f"All measurements: {wanted.json}")
    if wanted.quick:
        print("These sizes are far too small to judge by: leave out --quick for that.")
    return 0 if all(figure.met is not False for figure in figures) else 1


def _measured(name: str, sizes: Sizes) -> Figure:
    print(f"measuring: {name}", file=sys.stderr)
    try:
        return ALL[name](sizes)
    except JobFailedError as error:
        print(error.said, file=sys.stderr)
        return Figure(name, "", f"failed: {error}", False)


if __name__ == "__main__":
    sys.exit(main())
