"""Loggers and messages with visible control characters.

File names, and messages that contain them, are untrusted: control characters in them could clear a
screen, rename a window or forge a line.
"""

import logging
import unicodedata
from contextlib import suppress

_SHOWN = frozenset("\n\t\u200c\u200d")
"""Line ends, tabs, and the joiners of letters and emoji."""


def visible(text: str) -> str:
    """Return the text with control and direction characters shown as [U+001B]."""
    return text if text.isprintable() else "".join(map(_replace_control, text))


def _replace_control(character: str) -> str:
    kind = unicodedata.category(character)
    if kind[0] != "C" or character in _SHOWN or kind == "Cn":
        return character
    return "\ufffd" if kind == "Cs" else f"[U+{ord(character):04X}]"


def log(name: str = "curator_core") -> logging.Logger:
    """Return a logger that makes control characters in every line visible."""
    logger = logging.getLogger(name)
    logger.addFilter(_make_visible)  # added only once
    return logger


def _make_visible(record: logging.LogRecord) -> bool:
    with suppress(TypeError, ValueError):  # the arguments do not fit the message
        record.msg, record.args = visible(record.getMessage()), ()
    return True
