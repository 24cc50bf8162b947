"""Lines of JSON as a run writes them, able to hold any file's name: also what is no Unicode."""

import json
from typing import Any

import orjson


def to_line(facts: Any) -> bytes:
    """One line, its end included."""
    try:
        return orjson.dumps(facts, option=orjson.OPT_APPEND_NEWLINE, default=str)
    except TypeError:  # a name whose bytes are no UTF-8, which orjson refuses
        return json.dumps(facts, default=str).encode() + b"\n"


def to_page(facts: Any) -> bytes:
    """The same for people: indented."""
    try:
        return orjson.dumps(facts, option=orjson.OPT_INDENT_2, default=str)
    except TypeError:
        return json.dumps(facts, indent=2, default=str).encode()


def from_line(line: bytes) -> Any:
    """ValueError where it is no JSON."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return json.loads(line)
