"""Charsets: decode the bytes of a page as a browser would."""

import codecs
import re

from curator_text.html.detection import decode_undeclared
from curator_text.html.labels import REPLACEMENT, USER_DEFINED, codec_of

_META = re.compile(rb"<meta\b([^>]{0,600}+)", re.I)
_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?+\s*+([\w.:-]{2,40}+)", re.I)
_SEARCHED = 4096

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_UTF_16 = frozenset({"utf-16-le", "utf-16-be"})
_PRIVATE_USE = {byte: 0xF700 + byte for byte in range(0x80, 0x100)}
"""x-user-defined maps bytes beyond ASCII to these code points."""


def decoded(page: bytes, charset: str | None = None) -> str:
    """Decode a page.

    A byte order mark takes precedence, then the server's charset, then the one declared in the
    page. An undeclared page is decoded as UTF-8 if it is mostly valid; otherwise its charset is
    detected.
    """
    for mark, name in _MARKS.items():
        if page.startswith(mark):
            return page[len(mark) :].decode(name, "replace")
    codec = _served(page, charset) or _declared(page)
    if codec is None:
        return decode_undeclared(page)
    if codec == REPLACEMENT:
        return "\ufffd"
    if codec == USER_DEFINED:
        return page.decode("latin-1").translate(_PRIVATE_USE)
    return page.decode(codec, "replace")


def _served(page: bytes, charset: str | None) -> str | None:
    """Return the server's charset.

    A page without NUL bytes is not UTF-16, whatever the server says.
    """
    codec = codec_of(charset)
    return None if codec in _UTF_16 and b"\0" not in page[:_SEARCHED] else codec


def _declared(page: bytes) -> str | None:
    """Return the charset declared in the page.

    If the declaration is readable as ASCII, the page cannot be UTF-16 or x-user-defined.
    """
    codec = codec_of(_in_meta(page))
    if codec in _UTF_16:
        return "utf-8"
    return "cp1252" if codec == USER_DEFINED else codec


def _in_meta(page: bytes) -> str | None:
    for tag in _META.finditer(page, 0, _SEARCHED):
        if found := _CHARSET.search(tag[1]):
            return found[1].decode("ascii", "replace")
    return None
