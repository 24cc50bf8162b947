"""Random keys: a number for each row, derived from a seed, the row's content and its position.

Keys do not depend on the location or age of files, on the executor, or on other data: the same data
and the same seed give the same keys. Rows with equal texts get different keys.
"""

from collections.abc import Iterator
from hashlib import blake2b

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch
from curator_core.io.filesystems import base_name
from curator_core.model.arrow import rows_at

KEY = "_curator_key"
"""The column that holds the keys between two pipelines."""

KEYS = 1 << 64

_STORED = pa.binary(8)


def hash_key(*parts: bytes | str, seed: int) -> int:
    """Return a 64-bit hash of the parts. Boundaries between parts count."""
    digest = blake2b(digest_size=8, key=seed.to_bytes(16, "big", signed=True))
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return int.from_bytes(digest.digest(), "big")


def batch_label(task: DocumentBatch) -> str:
    """Return the names of a batch's files, without folders, and which part of them the batch is."""
    files = task.metadata.get("source_files") or ()
    return "/".join((*map(base_name, files), task.task_id.partition(".")[2]))


def row_keys(task: DocumentBatch, text_field: str, seed: int, copy: int) -> Iterator[int]:
    """Yield the key of each row. Each copy of a row has a different key."""
    label = batch_label(task)
    for row, content in enumerate(_text_bytes(task.data, text_field)):
        yield hash_key(f"{label} {row} {copy}", content, seed=seed)


def key_column(keys: Iterator[int]) -> pa.Array:
    """Return keys in the form of an exchange's hashes, so that partitions are ranges of keys."""
    return pa.array(list(keys), pa.uint64()).view(_STORED)


def sorted_by_key(table: pa.Table) -> pa.Table:
    """Sort the rows by key and remove the key column."""
    keys = table.column(KEY).combine_chunks().view(pa.uint64())
    return rows_at(table.drop_columns([KEY]), pc.sort_indices(keys))


def _text_bytes(table: pa.Table, text_field: str) -> Iterator[bytes]:
    """Yield the bytes of the texts, even if they are not valid UTF-8."""
    if text_field not in table.column_names:
        yield from (b"" for _ in range(table.num_rows))
        return
    column = table.column(text_field)
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        binary = pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()
        yield from (value or b"" for value in column.cast(binary).to_pylist())
    else:
        yield from (repr(value).encode() for value in column.to_pylist())
