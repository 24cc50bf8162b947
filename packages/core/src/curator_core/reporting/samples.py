"""Sample records on the report page: before and after, with differences marked."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from itertools import groupby
from re import compile as pattern
from typing import Any

from curator_core.logs import visible
from curator_core.reporting.figures import count

MOST_BYTES = 700_000
"""Limit for the whole section, so that the page stays below 3 MB."""

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


def changed_records(samples: Sequence[Event]) -> str:
    """Show a few changed records of each stage, before and after."""
    changed = [sample for sample in samples if "after" in sample]
    return _by_stage(changed, _change)


def dropped_records(samples: Sequence[Event]) -> str:
    """Show a few dropped records of each stage, with the reason."""
    dropped = [sample for sample in samples if "after" not in sample]
    return _by_stage(dropped, _drop)


def _by_stage(samples: Sequence[Event], told: Callable[[Event], str]) -> str:
    parts: list[str] = []
    room = MOST_BYTES
    for stage, group in groupby(samples, lambda sample: str(sample["stage"])):
        shown = [told(sample) for sample in group]
        opened = "" if parts else " open"
        part = (
            f"<details{opened}><summary><bdi>{_safe(stage)}</bdi> "
            f"<small>{len(shown)}</small></summary>{''.join(shown)}</details>"
        )
        room -= len(part.encode("utf-8", "replace"))
        if room < 0:
            return "".join([*parts, "<p>More: events.jsonl in the run directory.</p>"])
        parts.append(part)
    return "".join(parts)


def _change(sample: Event) -> str:
    before, after = _marked(_cut(sample.get("before", "")), _cut(sample["after"]))
    sides = _side("before", before, sample) + _side("after", after, sample)
    return f'{_heading(sample)}<div class="sides">{sides}</div>'


def _drop(sample: Event) -> str:
    return f"{_heading(sample)}{_text(_safe(_cut(sample.get('before', ''))))}"


def _side(name: str, text: str, sample: Event) -> str:
    start = sample.get("start", 0)
    where = f" from character {count(start)}" if start else ""
    return f"<div><small>{name}{where}</small>{_text(text)}</div>"


def _heading(sample: Event) -> str:
    parts = [str(sample.get(name, "")) for name in ("reason", "column", "label")]
    length = int(sample.get("length", 0))
    if length > len(str(sample.get("before", ""))):
        parts.append(f"{count(length)} characters in all")
    told = " · ".join(_safe(part[:300]) for part in parts if part)
    return f'<p class="sample"><bdi>{told}</bdi></p>'


def _text(text: str) -> str:
    """Put a text into a block that contains its writing direction."""
    return f'<pre dir="auto">{text}</pre>'


def _cut(text: object) -> str:
    return str(text)[:_LONGEST]


def _safe(text: str) -> str:
    """Escape a text for HTML, and make control characters and direction marks visible."""
    return escape(visible(text))


def _marked(before: str, after: str) -> tuple[str, str]:
    """Return both texts as HTML: deletions marked in the first, insertions in the second."""
    old, new = (_WORDS.findall(text) for text in (before, after))
    if len(old) * len(new) > _MOST_COMPARED:
        return _safe(before), _safe(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    left: list[str] = []
    right: list[str] = []
    for kind, a, b, c, d in matcher.get_opcodes():
        left += _wrapped("del", old[a:b], kind)
        right += _wrapped("ins", new[c:d], kind)
    return "".join(left), "".join(right)


def _wrapped(tag: str, words: list[str], kind: str) -> Iterator[str]:
    text = _safe("".join(words))
    if text:
        yield text if kind == "equal" else f"<{tag}>{text}</{tag}>"
