"""Measures the streaming executor and its peers: `hatch run bench:streaming [--quick] [ROW …]`.

Every run is a process of its own with a Ray of its own, engines take turns, and the median counts.
Keep the machine quiet. All of it takes about a quarter of an hour.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from measuring.figures import Figure, save, show
from measuring.timing import JobFailedError
from streaming_burdens import deaths, memory, simulation, spill, text
from streaming_engines import NOTES
from streaming_races import cold, faults, jump, mixed, tiny
from streaming_sizes import QUICK, Sizes

RESULTS = Path(__file__).parent / "results"
ROWS: dict[str, Callable[[Sizes], list[Figure]]] = {
    row.__name__: row
    for row in (mixed, cold, tiny, jump, memory, spill, deaths, text, faults, simulation)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; none: all")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--rounds", type=int, help="how often each engine has its turn")
    parser.add_argument("--json", type=Path, help="where the results go as JSON")
    wanted = parser.parse_args()
    unknown = [name for name in wanted.rows if name not in ROWS]
    if unknown:
        parser.error(f"no row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    path = wanted.json or RESULTS / ("streaming_quick.json" if wanted.quick else "streaming.json")
    figures = _measured(wanted.rows or list(ROWS), _sizes(wanted.quick, wanted.rounds))
    show(figures)
    for engine, note in NOTES.items():
        print(f"{engine}: {note}.")
    save(figures, path)
    print(f"All measurements: {path}")
    if wanted.quick:
        print("These sizes are far too small to judge by: leave out --quick for that.")
    return 0 if all(figure.met is not False for figure in figures) else 1


def _sizes(is_quick: bool, rounds: int | None) -> Sizes:
    sizes = QUICK if is_quick else Sizes()
    return sizes if rounds is None else replace(sizes, rounds=rounds)


def _measured(names: list[str], sizes: Sizes) -> list[Figure]:
    figures = []
    for name in names:
        print(f"measuring: {name}", file=sys.stderr)
        started = time.monotonic()
        try:
            found = ROWS[name](sizes)
        except JobFailedError as error:
            print(error.said, file=sys.stderr)
            found = [Figure(name, "", f"failed: {error}", False)]
        for figure in found:
            print(f"  {figure.what}: {figure.value}", file=sys.stderr)
        print(f"  ({time.monotonic() - started:.0f} s)", file=sys.stderr)
        figures += found
    return figures


if __name__ == "__main__":
    sys.exit(main())
