"""Picture metadata: write the columns added by stages as JSON beside each picture."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from curator_core.io.writers.jsonl import json_lines

from curator_image.batches import OWN_COLUMNS
from curator_image.sidecars import sidecars_in


def described_columns(table: pa.Table) -> list[str]:
    """Return the columns that are neither the image, its own columns nor sidecars."""
    known = {*OWN_COLUMNS, *sidecars_in(table.schema)}
    return [name for name in table.column_names if name not in known]


def descriptions(table: pa.Table) -> Sequence[bytes]:
    """Return one JSON object per row; empty bytes if no column was added."""
    names = described_columns(table)
    if not names:
        return [b""] * table.num_rows
    return b"".join(json_lines(table.select(names))).splitlines()


def merged(original: bytes | None, described: bytes) -> bytes | None:
    """Merge the original JSON with new values, which replace values of the same name."""
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
