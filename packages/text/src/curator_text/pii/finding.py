"""Finding: locate and redact personal data in a text."""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from functools import partial

from curator_text.pii.kinds import FINDERS, Kind, Span, find_ips

ALL_KINDS: tuple[Kind, ...] = tuple(FINDERS)


def find_pii(
    text: str, kinds: Sequence[Kind] = ALL_KINDS, public_ips_only: bool = False
) -> list[Span]:
    """Return the matches of these kinds, in text order and without overlaps."""
    found: list[tuple[int, int, Kind]] = []
    for kind, finder in FINDERS.items():
        if kind not in kinds:
            continue
        finder = partial(find_ips, public_only=public_ips_only) if kind == "ip" else finder
        for start, end in finder(text):
            if not _is_taken(found, start, end):
                insort(found, (start, end, kind))
    return [Span(kind, start, end) for start, end, kind in found]


def _is_taken(found: Sequence[tuple[int, int, Kind]], start: int, end: int) -> bool:
    """Return whether the range overlaps any of the sorted, non-overlapping matches."""
    place = bisect_left(found, (start,))
    before = place > 0 and found[place - 1][1] > start
    return before or (place < len(found) and found[place][0] < end)


def redacted(text: str, spans: Sequence[Span], replacement: str) -> str:
    """Replace each span in the text; `{kind}` in the replacement is the span's kind."""
    return "".join(_parts(text, spans, replacement))


def _parts(text: str, spans: Sequence[Span], replacement: str) -> Iterator[str]:
    last = 0
    for kind, start, end in spans:
        yield text[last:start]
        yield replacement.replace("{kind}", kind.upper())
        last = end
    yield text[last:]
