"""Partitioned output: group rows by the value of a column, with a folder for each value."""

from collections.abc import Iterator
from hashlib import blake2b
from itertools import pairwise
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import InputError
from curator_core.model.arrow import rows_at, without_views

MOST_VALUES = 4096
"""Limit of distinct values in a batch. With more, the column was probably named by mistake."""

_LONGEST = 180
_HIDDEN = (".", "_")


def partitions_of(table: pa.Table, column: str) -> Iterator[tuple[str, pa.Table]]:
    """Yield the folder and the rows of each value; rows keep their order."""
    values = without_views(table.select([column])).column(0)
    _refuse_others(column, values.type)
    encoded = values.combine_chunks() if values.num_chunks else pa.array([], values.type)
    if not pa.types.is_dictionary(encoded.type):
        encoded = encoded.dictionary_encode(null_encoding="encode")
    names = encoded.dictionary.to_pylist()
    if len(names) > MOST_VALUES:
        raise InputError(
            f"partition_by names {column!r}, which has {len(names):,} different values in one "
            f"batch, and each would be a folder; name a column with at most {MOST_VALUES:,}"
        )
    places = encoded.indices.fill_null(len(names))
    order = pc.sort_indices(places)  # stable: rows of one value keep their order
    sorted_table, sorted_places = rows_at(table, order), places.take(order)
    for place, start, end in _stretches(sorted_places):
        value = names[place] if place < len(names) else None
        yield folder_of(value), sorted_table.slice(start, end - start)


def folder_of(value: str | int | bool | None) -> str:
    """Return a unique folder name for a value that readers do not treat as hidden."""
    if value is None or value == "":
        return "%null" if value is None else "%empty"
    name = quote(str(value), safe=" +-=@,", errors="surrogatepass")
    if name.startswith(_HIDDEN):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    if len(name) <= _LONGEST:
        return name
    return f"{name[: _LONGEST - 33]}-{blake2b(name.encode(), digest_size=16).hexdigest()}"


def _stretches(places: pa.Array) -> Iterator[tuple[int, int, int]]:
    """Yield the runs of equal values in sorted places: value, start and end."""
    runs = pc.run_end_encode(places.cast(pa.int64()))
    ends = [0, *runs.run_ends.to_pylist()]
    for place, (start, end) in zip(runs.values.to_pylist(), pairwise(ends), strict=True):
        yield place, start, end


def _refuse_others(column: str, kind: pa.DataType) -> None:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer,
              pa.types.is_boolean, pa.types.is_null)  # fmt: skip
    if not any(check(plain) for check in checks):
        raise InputError(
            f"partition_by names {column!r}, which holds {kind}; "
            "folders are made of text, whole numbers or true and false"
        )
