"""Payloads: facts as JSON, and bytes behind them, as one piece that a retry reads back."""

import json
from typing import Any

_LENGTH = 8


def packed(facts: dict[str, Any], content: bytes | None) -> bytes:
    """Facts, and bytes where there are any: none and empty ones are told apart."""
    head = json.dumps({**facts, "has_content": content is not None}).encode()
    return len(head).to_bytes(_LENGTH, "big") + head + (content or b"")


def unpacked(payload: bytes) -> tuple[dict[str, Any], bytes | None]:
    end = _LENGTH + int.from_bytes(payload[:_LENGTH], "big")
    facts: dict[str, Any] = json.loads(payload[_LENGTH:end])
    return facts, payload[end:] if facts.pop("has_content") else None
