"""Ids: deterministic, so that every executor and every later run gives a task the same id."""

from collections.abc import Sequence
from hashlib import blake2b


def fingerprint(*parts: str | bytes) -> str:
    """Return a 128-bit hash as 32 hex digits. Where one part ends and the next begins matters."""
    digest = blake2b(digest_size=16)
    for part in parts:
        raw = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()


def child_id(parent: str, position: int) -> str:
    return f"{parent}.{position}"


def mixed_id(parents: Sequence[str]) -> str:
    """Return an id for several tasks that does not depend on their order."""
    return parents[0] if len(parents) == 1 else fingerprint(*sorted(parents))
