"""Sidecars: which columns of a table were files beside the image. The schema remembers it."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_SIDECARS = b"curator:sidecars"


def sidecars_in(schema: "pa.Schema") -> dict[str, str]:
    """The columns, and the endings that the names of their files had."""
    said = (schema.metadata or {}).get(_SIDECARS)
    found: dict[str, str] = json.loads(said) if said else {}
    return {name: ending for name, ending in found.items() if name in schema.names}


def told(sidecars: Mapping[str, str]) -> dict[bytes, bytes]:
    """The same as metadata of a schema."""
    return {_SIDECARS: json.dumps(dict(sidecars)).encode()}
