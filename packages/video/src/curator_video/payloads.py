"""Payloads: JSON facts followed by binary contents, in one piece that a retry can read."""

import json
from typing import Any

_LENGTH = 8


def packed(facts: dict[str, Any], *contents: bytes | None) -> bytes:
    """Pack facts and contents. None and empty contents stay different."""
    sizes = [None if content is None else len(content) for content in contents]
    head = json.dumps({**facts, "sizes": sizes}).encode()
    return b"".join(
        (len(head).to_bytes(_LENGTH, "big"), head, *(content or b"" for content in contents))
    )


def unpacked(payload: bytes) -> tuple[dict[str, Any], list[bytes | None]]:
    """Return the facts and as many contents as were packed."""
    place = _LENGTH + int.from_bytes(payload[:_LENGTH], "big")
    facts: dict[str, Any] = json.loads(payload[_LENGTH:place])
    contents: list[bytes | None] = []
    for size in facts.pop("sizes"):
        contents.append(None if size is None else payload[place : place + size])
        place += size or 0
    return facts, contents
