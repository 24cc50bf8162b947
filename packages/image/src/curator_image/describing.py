"""Describing: what stages found out about pictures, as JSON for a file beside each."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from curator_core.io.writers.jsonl import json_lines

from curator_image.batches import OWN_COLUMNS
from curator_image.sidecars import sidecars_in


def described_columns(table: pa.Table) -> list[str]:
    """What is neither the image, nor its key, nor a file that lay beside it."""
    known = {*OWN_COLUMNS, *sidecars_in(table.schema)}
    return [name for name in table.column_names if name not in known]


def descriptions(table: pa.Table) -> Sequence[bytes]:
    """A JSON object for each row; nothing at all where there is nothing to say."""
    names = described_columns(table)
    if not names:
        return [b""] * table.num_rows
    return b"".join(json_lines(table.select(names))).splitlines()


def merged(original: bytes | None, described: bytes) -> bytes | None:
    """What was there already, and what is new; ours replaces what has the same name."""
    if not described:
        return original
    if original is None:
        return described
    try:
        found: Any = json.loads(original)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        return described
    return json.dumps(found | json.loads(described), ensure_ascii=False).encode()
