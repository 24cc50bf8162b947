"""Records of a preview: what each stage did to the sample, and what became of each record."""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core.model.records import QuarantineRecord, StageCounts

Record: TypeAlias = dict[str, Any]
"""The columns of a record, or the facts of a picture, a clip or a recording."""


@dataclass(frozen=True)
class Change:
    """A column of one record before and after a stage. A new column has no `before`."""

    column: str
    before: Any
    after: Any
    is_new: bool = False


@dataclass(frozen=True)
class DropExample:
    """A reason for dropping records, how often it applied, and an example if there is one."""

    reason: str
    items: int
    record: Record | None = None
    values: Record = field(default_factory=dict)
    """What the stage measured on the example."""

    limits: list[str] = field(default_factory=list)
    """The limits that these values break: `17 < min_words 50`."""

    thumbnail: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class StagePreview:
    """What one stage did to the sample. Stages that `drew` it may have read more than it holds."""

    name: str
    counts: StageCounts
    drew: bool = False
    reads: tuple[str, ...] = ()
    changed: int = 0
    changes: list[Change] = field(default_factory=list)
    drops: list[DropExample] = field(default_factory=list)
    quarantined: list[QuarantineRecord] = field(default_factory=list)


@dataclass(frozen=True)
class RecordPreview:
    """A record as it was read, and what became of it: nothing, if all of it was dropped."""

    source: str
    before: Record
    after: list[Record]
    thumbnail: bytes | None = field(default=None, repr=False)


_FEW_BYTES = 32
"""Bytes up to this length, such as hashes, are shown in hexadecimal."""


def plain(value: Any) -> Any:
    """Return a value without the content of files in it: of long bytes, only the number."""
    if isinstance(value, bytes):
        return value.hex() if len(value) <= _FEW_BYTES else f"<{len(value):,} bytes>"
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value


def without_source(record: Record, source: str) -> Record:
    """Return a record without columns that only repeat the path of its file."""
    return {name: value for name, value in record.items() if not source or value != source}


def main_text(record: Record, reads: Iterable[str] = ()) -> str | None:
    """Return the column with the longest text: of those that a stage reads, or else of all."""
    read = [name for name in reads if isinstance(record.get(name), str)]
    texts = read or [name for name, value in record.items() if isinstance(value, str)]
    return max(texts, key=lambda name: len(record[name]), default=None)


def changes_in(before: Record, after: Record) -> Iterator[Change]:
    """Yield the columns that are new or have another value."""
    for column, value in after.items():
        if column not in before:
            if value is not None:
                yield Change(column, None, value, is_new=True)
        elif before[column] != value:
            yield Change(column, before[column], value)


_LOWEST = ("min_", "at_least", "least", "threshold")
_HIGHEST = ("max_", "at_most", "most")


def broken_limits(values: Record, options: Mapping[str, Any]) -> list[str]:
    """Return which limits among the options of a stage the values break: `17 < min_words 50`.

    If a stage has several values, a limit applies to those that share a word with its name.
    """
    numbers = {name: value for name, value in values.items() if _is_number(value)}
    found = []
    for option, limit in options.items():
        is_beyond = _comparison(option)
        if is_beyond is None or not _is_number(limit):
            continue
        for name, value in numbers.items():
            is_meant = len(numbers) == 1 or _words(option) & _words(name)
            if is_meant and is_beyond(value, limit):
                sign = "<" if is_beyond is operator.lt else ">"
                found.append(f"{value:.4g} {sign} {option} {limit:g}")
    return found


def _comparison(option: str) -> Callable[[Any, Any], bool] | None:
    if option.startswith(_LOWEST):
        return operator.lt
    return operator.gt if option.startswith(_HIGHEST) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(name: str) -> set[str]:
    return set(name.split("_")) - {"min", "max"}
