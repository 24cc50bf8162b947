"""Loggers and messages whose control characters are made visible.

Names of files, and messages about them, are anybody's. Control characters in them could clear a
screen, rename a window or forge a line.
"""

import logging
import unicodedata
from contextlib import suppress

_SHOWN = frozenset("\n\t\u200c\u200d")
"""Line ends, and what joins letters and emoji."""


def visible(text: str) -> str:
    """The text with control characters, and signs that turn the direction, as [U+001B]."""
    return text if text.isprintable() else "".join(map(_seen, text))


def _seen(character: str) -> str:
    kind = unicodedata.category(character)
    if kind[0] != "C" or character in _SHOWN or kind == "Cn":
        return character
    return "\ufffd" if kind == "Cs" else f"[U+{ord(character):04X}]"


def log(name: str = "curator_core") -> logging.Logger:
    """A logger, whose every line is visible text."""
    logger = logging.getLogger(name)
    logger.addFilter(_make_visible)  # once, however often
    return logger


def _make_visible(record: logging.LogRecord) -> bool:
    with suppress(TypeError, ValueError):  # a line that does not fit what it tells of
        record.msg, record.args = visible(record.getMessage()), ()
    return True
