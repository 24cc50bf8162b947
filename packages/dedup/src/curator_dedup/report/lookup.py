"""Lookups: read single documents of a corpus by file and position, without reading the rest."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import orjson
import pyarrow as pa
from curator_core import CuratorError, FilePart
from curator_core.io.compression import compression_of
from curator_core.io.filesystems import (
    StorageOptions,
    is_local,
    local_path,
    open_filesystem,
    open_input,
)
from curator_core.io.readers import Record

from curator_dedup.line_reader import read_lines
from curator_dedup.passes.list import is_parquet

MAX_LINE_BYTES = 1 << 24
MAX_COMPRESSED_BYTES = 1 << 26
"""Maximum size of a compressed file to look into, since all of it up to a position must be read."""

MAX_REMOTE_LINES = 20
"""Maximum number of lines to read from a remote file."""


class DocumentPlace(NamedTuple):
    """The position of a document."""

    file: str
    row: int


def look_up_documents(
    places: Sequence[DocumentPlace],
    fields: Sequence[str],
    storage_options: StorageOptions | None = None,
) -> dict[DocumentPlace, Record]:
    """Return the documents, with some of their fields, leaving out those that cannot be read."""
    by_file: dict[str, list[int]] = {}
    for place in sorted(set(places)):
        by_file.setdefault(place.file, []).append(place.row)
    found: dict[DocumentPlace, Record] = {}
    for file, rows in by_file.items():
        try:
            for row, record in _in_file(file, rows, fields, storage_options):
                found[DocumentPlace(file, row)] = record
        except (CuratorError, OSError, ValueError):
            continue  # the report shows how many documents were read
    return found


def _in_file(
    file: str, rows: list[int], fields: Sequence[str], storage_options: StorageOptions | None
) -> Iterator[tuple[int, Record]]:
    if is_parquet(file):
        yield from _of_parquet(file, rows, fields, storage_options)
        return
    packed = compression_of(file) is not None
    read = _of_packed if packed else _of_plain
    for row, line in read(file, rows, storage_options):
        record = orjson.loads(line)
        yield row, {name: record[name] for name in fields if name in record}


def _of_plain(
    file: str, rows: list[int], storage_options: StorageOptions | None
) -> Iterator[tuple[int, bytes]]:
    local = local_path(file)
    # A local file is opened with a buffer, which `open_input` does not add. A store returns large
    # blocks for one short line, so only a few lines are read.
    with open(local, "rb") if local else open_input(file, storage_options) as source:
        for row in rows if local else rows[:MAX_REMOTE_LINES]:
            source.seek(row)
            yield row, source.readline(MAX_LINE_BYTES)


def _of_packed(
    file: str, rows: list[int], storage_options: StorageOptions | None
) -> Iterator[tuple[int, bytes]]:
    fs, path = open_filesystem(file, dict(storage_options or {}))
    if int(fs.size(path) or 0) > MAX_COMPRESSED_BYTES or not is_local(fs):
        return
    wanted = np.array(rows)
    for piece in read_lines(FilePart(file), storage_options):
        at = np.searchsorted(piece.positions, wanted)
        for place, row in zip(at, rows, strict=True):
            if place < len(piece) and piece.positions[place] == row:
                yield row, piece.data[piece.edges[place] : piece.edges[place + 1]]
        if len(piece) and piece.positions[-1] >= rows[-1]:
            return


def _of_parquet(
    file: str, rows: list[int], fields: Sequence[str], storage_options: StorageOptions | None
) -> Iterator[tuple[int, Record]]:
    import pyarrow.parquet as pq

    with open_input(file, storage_options) as source:
        parquet = pq.ParquetFile(source)
        names = list(_shown(parquet.schema_arrow, fields))
        start = 0
        for group in range(parquet.num_row_groups):
            end = start + parquet.metadata.row_group(group).num_rows
            here = [row for row in rows if start <= row < end]
            if here:
                table = parquet.read_row_group(group, columns=names)
                taken = table.take([row - start for row in here])
                yield from zip(here, taken.to_pylist(), strict=True)
            start = end


def _shown(schema: pa.Schema, fields: Sequence[str]) -> Iterator[str]:
    """Yield the fields to show; if there are several, skip binary ones such as images."""
    for name in fields:
        at = schema.get_field_index(name)
        if at >= 0 and not (fields[1:] and _is_binary(schema.field(at).type)):
            yield name


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
