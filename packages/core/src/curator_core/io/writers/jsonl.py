"""JSON Lines writer: one record per line, columns in the order of the table."""

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any, BinaryIO, ClassVar, cast

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from curator_core.io.compression import COMPRESSIONS, Compression, open_compressed
from curator_core.io.readers.json_records import dump_json, has_long_digits
from curator_core.io.writers.base import FileWriter
from curator_core.model.arrow import is_json

_ROWS = 256
"""Rows encoded together: few enough to stay in the processor's cache."""

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


def json_lines(table: pa.Table) -> Iterator[bytes]:
    """Yield the rows as JSON, a few hundred lines at a time."""
    names = table.column_names
    if not names:
        yield b"{}\n" * table.num_rows
        return
    for batch in table.to_batches(_ROWS):
        columns = [
            _values(column, field)
            for column, field in zip(batch.columns, table.schema, strict=True)
        ]
        rows = zip(*columns, strict=True)
        yield b"".join([_dumps(dict(zip(names, row, strict=True))) for row in rows])


def _dumps(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, _otherwise, _OPTIONS)


def _values(column: pa.Array, field: pa.Field) -> list[Any]:
    if is_json(field):
        return _parse_json(column.to_pylist())
    if pa.types.is_timestamp(field.type):
        return list(pc.replace_substring(column.cast(pa.string()), " ", "T").to_pylist())
    plain = _plain_type(field.type)
    if plain != field.type:
        column = column.cast(plain, safe=False)
    return list(column.to_pylist())


def _parse_json(texts: list[str | None]) -> list[Any]:
    """Parse the values of JSON columns. Text that is not valid JSON stays text."""
    together = "[" + ",".join([text or "null" for text in texts]) + "]"
    try:
        values = list(orjson.loads(together))
    except orjson.JSONDecodeError:
        values = []
    if len(values) != len(texts):
        values = [_parsed_alone(text) for text in texts]
    if has_long_digits(together.encode()):
        values = [_exact(*pair) for pair in zip(texts, values, strict=True)]
    return values


def _exact(text: str | None, value: Any) -> Any:
    """Return a value with exact integers, which orjson rounds above 64 bits."""
    if text is None or not has_long_digits(text.encode()):
        return value
    try:
        return orjson.Fragment(dump_json(json.loads(text)))
    except (ValueError, RecursionError):  # not JSON, too many digits, or nested too deeply
        return value


def _parsed_alone(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type whose values Python can hold, i.e. without nanoseconds."""
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_time64(kind):
        return pa.time64("us")
    if pa.types.is_duration(kind):
        return pa.duration("us")
    if pa.types.is_struct(kind):
        return pa.struct([inner.with_type(_plain_type(inner.type)) for inner in kind])
    if pa.types.is_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    return kind


def _otherwise(value: Any) -> Any:
    """Convert values without a JSON form: decimals and bytes to text, durations to seconds."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value)


@dataclass
class JsonlWriter(FileWriter):
    """Write JSON Lines, plain or compressed (gz, zst, bz2, xz)."""

    compressions: ClassVar[tuple[str, ...]] = COMPRESSIONS

    @property
    def ending(self) -> str:
        return f".jsonl.{self.compression}" if self.compression else ".jsonl"

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        with open_compressed(file, cast(Compression | None, self.compression)) as stream:
            for table in tables:
                for lines in json_lines(table):
                    stream.write(lines)
