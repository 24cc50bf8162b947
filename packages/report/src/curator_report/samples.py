"""Sample records on the report page: before and after, with differences marked."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from re import compile as pattern
from typing import Any

from curator_core.logs import visible
from curator_core.model.formatting import count

MOST_BYTES = 700_000
"""Limit for the whole section, so that the page stays below 2 MB."""

_TAGS_SIZE = 250
"""More than the tags around a sample take."""

_MOST_KEPT = 8
_LONGEST = 1000
_MOST_COMPARED = 250_000
"""Pairs of words: comparing texts of many short words would take long."""
_WORDS = pattern(r"\w+|\s+|[^\w\s]+")

Event = Mapping[str, Any]


def in_order(samples: Iterable[Event], stages: Iterable[str]) -> list[Event]:
    """Sort samples by stage, in the order of the stages, and then by reason."""
    places = {name: place for place, name in enumerate(stages)}
    known = [sample for sample in samples if sample.get("stage") in places]
    return sorted(known, key=lambda one: (places[one["stage"]], str(one.get("reason", ""))))


@dataclass(frozen=True)
class Piece:
    """A part of a text: inserted (`ins`), deleted (`del`), or equal on both sides."""

    text: str
    tag: str = ""

    @property
    def size(self) -> int:
        """Return how many bytes it takes on the page, at most."""
        return len(escape(self.text).encode("utf-8", "replace")) + (11 if self.tag else 0)


@dataclass(frozen=True)
class Sample:
    """A record that a stage changed or, without `after`, dropped."""

    heading: str
    start: int
    before: Sequence[Piece]
    after: Sequence[Piece] | None = None

    @property
    def size(self) -> int:
        return sum(piece.size for piece in (Piece(self.heading), *self.before, *(self.after or ())))


@dataclass(frozen=True)
class SampleGroup:
    """The samples of one stage."""

    stage: str
    samples: Sequence[Sample]

    @property
    def size(self) -> int:
        return _TAGS_SIZE * len(self.samples) + sum(sample.size for sample in self.samples)


@dataclass(frozen=True)
class Samples:
    """As many groups as fit on the page."""

    groups: Sequence[SampleGroup]
    is_cut: bool = False


def changed_records(samples: Sequence[Event]) -> Samples:
    """Return a few changed records of each stage, before and after."""
    return _by_stage([sample for sample in samples if "after" in sample])


def dropped_records(samples: Sequence[Event]) -> Samples:
    """Return a few dropped records of each stage, with the reason."""
    return _by_stage([one for one in samples if "after" not in one and not one.get("is_kept")])


def kept_records(samples: Sequence[Event]) -> Samples:
    """Return a few of the records that were written."""
    return _by_stage([sample for sample in samples if sample.get("is_kept")][:_MOST_KEPT])


def _by_stage(samples: Sequence[Event]) -> Samples:
    groups: list[SampleGroup] = []
    room = MOST_BYTES
    for stage, events in groupby(samples, lambda sample: str(sample["stage"])):
        group = SampleGroup(visible(stage), [_sample(event) for event in events])
        room -= group.size
        if room < 0:
            return Samples(groups, is_cut=True)
        groups.append(group)
    return Samples(groups)


def _sample(event: Event) -> Sample:
    before, start = _cut(event.get("before", "")), int(event.get("start", 0))
    if "after" in event:
        return Sample(_heading(event), start, *_mark_changes(before, _cut(event["after"])))
    return Sample(_heading(event), start, [Piece(visible(before))])


def _heading(event: Event) -> str:
    parts = [str(event.get(name, "")) for name in ("reason", "column", "label")]
    length = int(event.get("length", 0))
    if length > len(str(event.get("before", ""))):
        parts.append(f"{count(length)} characters in all")
    return " · ".join(visible(part[:300]) for part in parts if part)


def _cut(text: object) -> str:
    return str(text)[:_LONGEST]


def _mark_changes(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Return both texts in pieces: deletions marked in the first, insertions in the second."""
    old, new = (_WORDS.findall(text) for text in (before, after))
    if len(old) * len(new) > _MOST_COMPARED:
        return [Piece(visible(before))], [Piece(visible(after))]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    left: list[Piece] = []
    right: list[Piece] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        left += _pieces(old[a:b], "" if kind == "equal" else "del")
        right += _pieces(new[c:d], "" if kind == "equal" else "ins")
    return left, right


def _pieces(words: list[str], tag: str) -> Iterator[Piece]:
    text = visible("".join(words))
    if text:
        yield Piece(text, tag)
