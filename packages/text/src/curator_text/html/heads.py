"""Heads: read the title and language of a page without parsing all of it."""

import html
import re

_SEARCHED = 256 * 1024
_TITLE = re.compile(r"<title\b[^<>]{0,500}+>([^<]{0,2000}+)", re.I)
_BEGINNING = 16 * 1024
_TAG = re.compile(r"<html\b([^>]{0,2000}+)", re.I)
_LANGUAGE = re.compile(r"\blang\s*+=\s*+[\"']?+\s*+([a-z]{2,3}+)\b", re.I)
"""Possessive quantifiers within one tag, so that no page causes backtracking."""


def title_of(page: str) -> str | None:
    found = _TITLE.search(page, 0, _SEARCHED)
    return " ".join(html.unescape(found[1]).split()) or None if found else None


def language_of(page: str) -> str | None:
    """Return the language that the page declares, such as `de`. It is often wrong."""
    for tag in _TAG.finditer(page, 0, _BEGINNING):
        if found := _LANGUAGE.search(tag[1]):
            return found[1].lower()
    return None
