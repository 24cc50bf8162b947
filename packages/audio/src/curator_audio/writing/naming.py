"""Names of segment files, made from the source and the offset in it."""

import hashlib
import re

from curator_core.io.filesystems import base_name

_ODD = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 80


def name_of(path: str, start: float | None, seconds: float | None) -> str:
    """Return a name like `interview-000012500-3f2a9c01`: source, start in milliseconds, digest."""
    stem = _ODD.sub("_", base_name(path).rpartition(".")[0] or base_name(path))[:_LONGEST]
    digest = hashlib.blake2b(repr((path, start, seconds)).encode(), digest_size=6).hexdigest()
    return f"{stem or 'audio'}-{round((start or 0.0) * 1000):09d}-{digest}"
