"""Visible text: measure the part of an HTML page that a reader would see."""

import html
import re

# Anything unclosed extends to the end, so that each character is read once.
_UNSEEN = re.compile(
    r"<(?P<raw>script|style)(?=[\s/>])(?:.*?</(?P=raw)\s*>|.*)"
    r"|<!--(?:.*?-->|.*)"
    r"|<(?P<close>/)?(?:(?P<kept>pre|textarea)(?=[\s/>])|[a-z])"
    r"(?:[^>\"']++|\"[^\"]*+\"|'[^']*+'|[\"'])*+>?"
    r"|<[!?][^>]*+>?",
    re.DOTALL | re.IGNORECASE,
)
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
_SPACES = " \t\n\f\r"


def visible_length(source: str) -> int:
    """Count the characters outside of tags, comments, scripts and styles.

    An entity counts as the character that it represents. White space alone between two tags, such
    as indentation, counts as one character, except in `pre` and `textarea`.
    """
    length = end = kept = 0
    for found in _UNSEEN.finditer(source):
        if found.start() > end:
            length += _length(source[end : found.start()], kept > 0)
        end = found.end()
        if found["kept"]:
            kept = max(0, kept - 1) if found["close"] else kept + 1
    return length + _length(source[end:], kept > 0)


def _length(text: str, is_kept: bool) -> int:
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if not is_kept and text and not text.strip(_SPACES):
        return 1
    return len(text)
