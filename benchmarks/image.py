"""Measures curator-image: `hatch run bench:image [--quick] [--only NAME …]`.

Each figure stands beside its target, and every peer runs in turns with us in one process. Keep
the machine quiet.
"""

import argparse
import importlib
import sys
from pathlib import Path

from measuring.figures import Figure, save, show

RESULTS = Path(__file__).parent / "results" / "image.json"

NAMES = sorted(
    path.stem.removeprefix("image_") for path in Path(__file__).parent.glob("image_*.py")
)
"""Each is a module with `figures(quick)`."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--only", nargs="+", choices=NAMES, metavar="NAME", default=NAMES,
                        help=f"of {', '.join(NAMES)}")  # fmt: skip
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
    found: list[Figure] = importlib.import_module(f"image_{name}").figures(quick)
    return found


if __name__ == "__main__":
    sys.exit(main())
