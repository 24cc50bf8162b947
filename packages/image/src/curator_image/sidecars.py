"""Sidecars: which columns of a table are sidecar files, as stored in its schema."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_SIDECARS = b"curator:sidecars"


def sidecars_in(schema: "pa.Schema") -> dict[str, str]:
    """Return the sidecar columns with the extensions of their files."""
    said = (schema.metadata or {}).get(_SIDECARS)
    found: dict[str, str] = json.loads(said) if said else {}
    return {name: ending for name, ending in found.items() if name in schema.names}


def told(sidecars: Mapping[str, str]) -> dict[bytes, bytes]:
    """Return the sidecar columns as schema metadata."""
    return {_SIDECARS: json.dumps(dict(sidecars)).encode()}
