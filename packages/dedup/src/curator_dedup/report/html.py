"""HTML that the report pages share: tables, styles, and texts with their differences marked."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from html import escape

from curator_core.model.formatting import count
from curator_report.html import figures_table

from curator_dedup.passes.list import is_parquet
from curator_dedup.report.lookup import DocumentPlace

MAX_ROWS = 30

_ONE_BY_ONE = 8

STYLE = """
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; margin: .5rem 0 1.5rem }
.pair pre { margin: .2rem 0; max-height: 22rem; overflow: auto; font-size: .85rem }
.pair small { overflow-wrap: anywhere }
mark { background: #fc68; color: inherit; padding: 0 1px }
.curve { max-width: 40rem; width: 100%; font-size: 11px }
.curve line { stroke: var(--line) } .curve text { fill: currentColor }
.curve polyline { fill: none; stroke: var(--bar); stroke-width: 2.5 }
.curve .mark { stroke: var(--bad); stroke-dasharray: 5 4 }
@media (max-width: 40rem) {
  .pair { grid-template-columns: 1fr }
  .pair pre { max-height: 14rem }
  .figures td { overflow-wrap: anywhere } .figures td:first-child { min-width: 8rem }
  .figures th:nth-child(n+2) { white-space: normal }
  .figures .bar { width: 3rem }
}
"""


def bar(part: float, most: float) -> str:
    percent = 100 * part / most if most else 0
    return f'<span class="bar"><i style="width:{percent:.1f}%"></i></span>'


def sizes_table(head: tuple[str, str, str], sizes: Counter[int]) -> str:
    bins = list(_bins(sizes))
    most = max((groups for _, groups, _ in bins), default=0)
    rows = [
        [label, count(groups), count(members), bar(groups, most)] for label, groups, members in bins
    ]
    return figures_table((*head, ""), rows)


def _bins(sizes: Counter[int]) -> Iterator[tuple[str, int, int]]:
    """Yield sizes up to 8 one by one, then in ranges that double."""
    low, high = 1, 1
    largest = max(sizes, default=0)
    while low <= largest:
        here = {size: number for size, number in sizes.items() if low <= size <= high}
        if here:
            label = str(low) if low == high else f"{low:,} to {high:,}"
            members = sum(size * number for size, number in here.items())
            yield label, sum(here.values()), members
        low, high = high + 1, high + 1 if high < _ONE_BY_ONE else 2 * high


def more(number: int, things: str) -> str:
    """Return the note below a table that was cut off."""
    return f"<p>and {count(number - MAX_ROWS)} more {things}</p>" if number > MAX_ROWS else ""


def unit(place: DocumentPlace) -> str:
    return "row" if is_parquet(place.file) else "byte"


LONGEST = 4000
"""Maximum number of characters of a text to compare and show."""

_PIECES = re.compile(r"\s+|\S+\s*")
"""U64Array with the spaces after them: separate spaces would match all other spaces."""


def marked(left: str, right: str) -> tuple[str, str]:
    """Return both texts as escaped HTML, with differing words in `<mark>`."""
    if left == right:
        return (_whole([escape(left[:LONGEST])], left),) * 2
    ours, theirs = _PIECES.findall(left[:LONGEST]), _PIECES.findall(right[:LONGEST])
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    parts: tuple[list[str], list[str]] = ([], [])
    for tag, a, b, c, d in matcher.get_opcodes():
        parts[0].append(_shown(ours[a:b], tag != "equal"))
        parts[1].append(_shown(theirs[c:d], tag != "equal"))
    return _whole(parts[0], left), _whole(parts[1], right)


def _shown(pieces: Sequence[str], differs: bool) -> str:
    text = escape("".join(pieces))
    return f"<mark>{text}</mark>" if differs and text else text


def _whole(parts: Sequence[str], text: str) -> str:
    more = len(text) - LONGEST
    return "".join(parts) + (f" … <i>{more:,} more characters</i>" if more > 0 else "")
