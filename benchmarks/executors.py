"""Measures the Ray Data and actor-pool executors: `hatch run bench:executors [--quick] [ROW …]`.

Every run is a process of its own with a Ray of its own, engines take turns, and the median counts.
Keep the machine quiet. All of it takes about ten minutes.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from executors_ray_data import ROWS as RAY_DATA_ROWS
from executors_sizes import QUICK, Sizes
from measuring.figures import Figure, save, show
from measuring.timing import JobFailedError

RESULTS = Path(__file__).parent / "results"
ROWS: dict[str, Callable[[Sizes], list[Figure]]] = dict(RAY_DATA_ROWS)
if find_spec("executors_actor_pool") is not None:
    from executors_actor_pool import ROWS as ACTOR_POOL_ROWS

    ROWS |= ACTOR_POOL_ROWS


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
    path = wanted.json or RESULTS / ("executors_quick.json" if wanted.quick else "executors.json")
    figures = _measured(wanted.rows or list(ROWS), _sizes(wanted.quick, wanted.rounds))
    show(figures)
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
