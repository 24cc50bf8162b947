"""Entries: columns of spans, turns or words, each with start and end in seconds.

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

from curator_audio.opening import UndecodableError

if TYPE_CHECKING:
    from curator_core import Rejected

    from curator_audio.batches import AudioBatch

Entry: TypeAlias = dict[str, Any]


class EntriesError(InputError, ValueError):
    """A value that is not a valid list of entries."""


@dataclass(frozen=True)
class Entries:
    """Rows with valid entries, their entries, and the rejected rows."""

    batch: "AudioBatch"
    values: list[list[Entry]]
    rejected: "list[Rejected]"


def entries_in(batch: "AudioBatch", name: str, more: Sequence[str] = ()) -> Entries:
    """Return the entries of each row in a column, empty for null. `more` are required keys."""
    found: dict[int, list[Entry]] = {}
    failed: dict[int, Exception] = {}
    for row, value in enumerate(batch.data.column(name).to_pylist()):
        try:
            batch.start(row)
            found[row] = [_entry(one, more) for one in _listed(value)]
        except EntriesError as error:
            failed[row] = EntriesError(f"{name} is {error}")
        except UndecodableError as error:
            failed[row] = error
    kept, rejected = batch.without(failed)
    return Entries(kept, list(found.values()), rejected)


def with_entries(
    batch: "AudioBatch", name: str, values: Sequence[Sequence[Entry] | None]
) -> "AudioBatch":
    """Replace the entries in a column, keeping its type."""
    table = batch.data
    place = table.column_names.index(name)
    field = table.schema.field(name)
    if pa.types.is_string(field.type):
        texts = [None if one is None else orjson.dumps(one).decode() for one in values]
        return batch.with_table(table.set_column(place, json_field(name), pa.array(texts)))
    return batch.with_table(table.set_column(place, field, pa.array(values, field.type)))


def _listed(value: Any) -> list[Any]:
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise EntriesError(f"no JSON: {error}") from None
    if value is None:
        return []
    if not isinstance(value, list):
        raise EntriesError("no list of entries with start and end")
    return value


def _entry(entry: Any, more: Sequence[str]) -> Entry:
    missing = [
        key for key in ("start", "end") if not _is_time(isinstance(entry, dict) and entry.get(key))
    ]
    missing += [key for key in more if not missing and entry.get(key) is None]
    if missing:
        raise EntriesError(f"a list with an entry that has no {' or '.join(missing)}: {entry!r}")
    if entry["end"] < entry["start"]:
        raise EntriesError(f"a list with an entry that ends before it starts: {entry!r}")
    return dict(entry)


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
