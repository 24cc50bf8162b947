"""Timed entries: columns of spans, turns or words, each with start and end in seconds.

Nested values are JSON text from JSON Lines and shards, and lists from Parquet and our own stages.
Both are supported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson
import pyarrow as pa
from curator_core.errors import InputError
from curator_core.model.arrow import json_field

from curator_audio.container import UndecodableError

if TYPE_CHECKING:
    from curator_core import Rejected

    from curator_audio.audio_batch import AudioBatch


Entry: TypeAlias = dict[str, Any]


class TimedEntriesError(InputError, ValueError):
    """A value that is not a valid list of entries."""


@dataclass(frozen=True)
class TimedEntries:
    """Rows with valid entries, their entries, and the rejected rows."""

    batch: "AudioBatch"
    values: list[list[Entry]]
    rejected: "list[Rejected]"


def read_entries(batch: "AudioBatch", name: str, required_keys: Sequence[str] = ()) -> TimedEntries:
    """Return the entries of each row in a column, empty for null; check the required keys."""
    found: dict[int, list[Entry]] = {}
    failed: dict[int, Exception] = {}
    for row, value in enumerate(batch.data.column(name).to_pylist()):
        try:
            batch.start(row)
            found[row] = [_checked_entry(one, required_keys) for one in _as_list(value)]
        except TimedEntriesError as error:
            failed[row] = TimedEntriesError(f"{name} {error}")
        except UndecodableError as error:
            failed[row] = error
    kept, rejected = batch.reject_rows(failed)
    return TimedEntries(kept, list(found.values()), rejected)


def with_entries(
    batch: "AudioBatch", name: str, values: Sequence[Sequence[Entry] | None]
) -> "AudioBatch":
    """Replace the entries in a column, keeping its type."""
    table = batch.data
    index = table.column_names.index(name)
    field = table.schema.field(name)
    if pa.types.is_string(field.type):
        texts = [None if one is None else orjson.dumps(one).decode() for one in values]
        return batch.with_table(table.set_column(index, json_field(name), pa.array(texts)))
    return batch.with_table(table.set_column(index, field, pa.array(values, field.type)))


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise TimedEntriesError(f"is not valid JSON: {error}") from None
    if value is None:
        return []
    if not isinstance(value, list):
        raise TimedEntriesError("is not a list of entries with start and end")
    return value


def _checked_entry(entry: Any, required_keys: Sequence[str]) -> Entry:
    missing = [
        key for key in ("start", "end") if not _is_time(isinstance(entry, dict) and entry.get(key))
    ]
    missing += [key for key in required_keys if not missing and entry.get(key) is None]
    if missing:
        raise TimedEntriesError(f"has an entry without {' or '.join(missing)}: {entry!r}")
    if entry["end"] < entry["start"]:
        raise TimedEntriesError(f"has an entry that ends before it starts: {entry!r}")
    return dict(entry)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
