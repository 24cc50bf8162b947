"""Shuffle partitions: assign rows to partitions by a hash of their key.

A key has the same partition in every process, on every machine and in every later run.
"""

from collections.abc import Sequence
from functools import reduce
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc

from curator_core.errors import InputError
from curator_core.model.arrow import rows_at, without_views

MOST_PARTITIONS = 4096

_HALF = pa.scalar(32, pa.uint64())


def partition_column(
    table: pa.Table, keys: Sequence[str], partitions: int, *, hashed: bool = False
) -> pa.Array:
    """Return the partition number of each row. With `hashed` the only key is already a hash."""
    if partitions == 1:
        return pa.repeat(pa.scalar(0, pa.uint64()), table.num_rows)
    plain = without_views(table.select(keys))
    columns = [_whole(column) for column in plain.columns]
    hashes = _beginnings(keys[0], columns[0]) if hashed else _united(columns)
    upper = pc.shift_right(hashes, _HALF)
    return pc.shift_right(pc.multiply(upper, pa.scalar(partitions, pa.uint64())), _HALF)


def _united(columns: Sequence[pa.Array]) -> pa.Array:
    """Combine several hashes. Each gets another factor, so that equal ones do not cancel out."""
    turned = (
        pc.multiply(_hashes(column), pa.scalar(2 * place + 1, pa.uint64()))
        for place, column in enumerate(columns)
    )
    return reduce(pc.bit_wise_xor, turned)


def _hashes(column: pa.Array) -> pa.Array:
    """Return 64-bit hashes of the values; repeated values are hashed once."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary
    raws = values if _is_binary(values.type) else pc.cast(values, pa.string())
    numbers = [_number(value) for value in raws.to_pylist()]
    return pa.array(numbers, pa.uint64()).take(column.indices).fill_null(0)


def _number(value: str | bytes | None) -> int:
    if value is None:
        return 0
    raw = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(raw, digest_size=8).digest(), "big")


def _beginnings(name: str, column: pa.Array) -> pa.Array:
    """Return the first 8 bytes of each value; 0 for null."""
    kind = column.type
    if not pa.types.is_fixed_size_binary(kind) or kind.byte_width % 8:
        raise InputError(
            f"hashed says that {name!r} holds hashes, but it is {kind}; "
            "give binary of a fixed size such as 16 bytes, or leave hashed out"
        )
    words = kind.byte_width // 8
    start, rows = column.offset * words, len(column)
    numbers = pa.Array.from_buffers(
        pa.uint64(), rows * words, [None, column.buffers()[1]], offset=start
    )
    firsts = numbers if words == 1 else numbers.take(_every(words, rows))
    return pc.if_else(column.is_valid(), firsts, pa.scalar(0, pa.uint64()))


def _every(step: int, count: int) -> pa.Array:
    return pa.array(range(0, count * step, step), pa.int64())


def _is_binary(kind: pa.DataType) -> bool:
    checks = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(check(kind) for check in checks)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def in_partitions(table: pa.Table, places: pa.Array, partitions: int) -> list[pa.Table]:
    """Return the rows of each partition, in their original order."""
    if partitions == 1:
        return [table]
    ordered = rows_at(table, pc.sort_indices(places))  # a stable sort
    counted = pc.value_counts(places)
    sizes = dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))
    tables, start = [], 0
    for place in range(partitions):
        rows = sizes.get(place, 0)
        tables.append(ordered.slice(start, rows))
        start += rows
    return tables
