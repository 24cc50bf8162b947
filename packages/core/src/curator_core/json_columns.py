"""Columns that hold JSON as text: nested values that Arrow has no single type for."""

import pyarrow as pa

JSON_MARK = {b"curator:json": b"1"}
"""Metadata of a field whose text is JSON, to be written as it is and not as a quoted string."""


def json_field(name: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata=JSON_MARK)


def is_json(field: pa.Field) -> bool:
    return (field.metadata or {}).get(b"curator:json") == b"1"
