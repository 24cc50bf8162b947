"""Rows: benchmarks of several parts, of which a call may name those it wants."""

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from curator_core.errors import nearest

from measuring.figures import Figure, save, show
from measuring.peers import PeerMissingError
from measuring.timing import JobFailedError

RESULTS = Path(__file__).parents[1] / "results"

S = TypeVar("S")
"""A dataclass of how much work each row is measured on; each number in it is an option."""

Row = Callable[[S], Iterable[Figure]]


def run_rows(
    name: str, about: str | None, rows: Mapping[str, Row[S]], sizes: S, quick: S, note: str = ""
) -> int:
    """Measure, show and keep the figures; the exit code says whether all targets are met."""
    wanted = _parser(about, rows, sizes).parse_args()
    chosen = _sizes(wanted, quick if wanted.quick else sizes)
    figures = [
        figure
        for row in wanted.rows or rows
        for figure in _measured(row, lambda row=row: rows[row](chosen))
    ]
    show(figures)
    path = wanted.json or RESULTS / (f"{name}_quick.json" if wanted.quick else f"{name}.json")
    save(figures, path)
    print(*filter(None, [note]), f"All measurements: {path}", sep="\n")
    if wanted.quick:
        print("These sizes are far too small to judge by: leave out --quick for that.")
    return 0 if all(figure.met is not False for figure in figures) else 1


def _parser(about: str | None, rows: Iterable[str], sizes: Any) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about)
    names = ", ".join(rows)
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", type=_one_of(list(rows)), help=f"of {names}; none: all"
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run at all?")
    parser.add_argument("--json", type=Path, help="where the results go as JSON")
    for size in _numbers(sizes):
        default = getattr(sizes, size.name)
        parser.add_argument(_option(size.name), type=type(default), help=f"{default} unless given")
    return parser


def _one_of(names: list[str]) -> Callable[[str], str]:
    def row(text: str) -> str:
        if text not in names:
            near = nearest(text, names)
            meant = f" (did you mean {near}?)" if near else ""
            raise argparse.ArgumentTypeError(f"no row {text}{meant}; there are {', '.join(names)}")
        return text

    return row


def _numbers(sizes: Any) -> list[Field[Any]]:
    return [one for one in fields(sizes) if type(getattr(sizes, one.name)) in (int, float)]


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _sizes(wanted: argparse.Namespace, sizes: S) -> S:
    given = {one.name: getattr(wanted, one.name) for one in _numbers(sizes)}
    return replace(sizes, **{name: n for name, n in given.items() if n is not None})  # type: ignore[type-var]


def _measured(row: str, measure: Callable[[], Iterable[Figure]]) -> list[Figure]:
    """What a row has found; where it could not be measured, a figure says so in its place."""
    print(f"measuring: {row}", file=sys.stderr)
    started = time.monotonic()
    found: list[Figure] = []
    try:
        for figure in measure():
            print(f"  {figure.what}: {figure.value}", file=sys.stderr)
            found.append(figure)
    except PeerMissingError as error:
        found.append(Figure(row, "", f"nothing to measure with: {error}", None))
    except JobFailedError as error:
        print(error.said, file=sys.stderr)
        found.append(Figure(row, "", f"failed: {error}", False))
    print(f"  ({time.monotonic() - started:.0f} s)", file=sys.stderr)
    return found
