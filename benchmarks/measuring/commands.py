"""Commands: what the small benchmarks share, which measure one thing a few times."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from measuring.figures import Figure, save, show
from measuring.peers import PeerMissingError


def run_command(
    about: str | None, results: Path, measured: Callable[[int], Sequence[Figure]]
) -> int:
    """Measure, show and keep the figures; the exit code says whether all targets are met."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--rounds", type=int, default=5, help="how often to measure each")
    parser.add_argument("--json", type=Path, default=results, help="where the results go as JSON")
    wanted = parser.parse_args()
    try:
        figures = measured(wanted.rounds)
    except PeerMissingError as error:
        print(f"nothing to measure with: {error}", file=sys.stderr)
        return 1
    show(figures)
    save(figures, wanted.json)
    return 0 if all(figure.met is not False for figure in figures) else 1
