"""Charsets: bytes of a page become text as a browser would have it."""

import codecs
import re
from functools import lru_cache

_META = re.compile(rb"<meta\b[^>]{0,500}?charset\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.I)
_SEARCHED = 4096

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}

_MEANT = {  # what pages say, and what browsers take it for
    "iso8859-1": "cp1252", "ascii": "cp1252", "iso8859-9": "cp1254", "iso8859-11": "cp874",
    "gb2312": "gb18030", "gbk": "gb18030", "shift_jis": "cp932", "euc_kr": "cp949",
    "utf-16": "utf-8", "utf-16-le": "utf-8", "utf-16-be": "utf-8", "utf-7": "utf-8",
}  # fmt: skip


def decoded(page: bytes, charset: str | None = None) -> str:
    """A mark at the beginning counts most, then what the server said, then what the page says.

    Where nobody says anything it is UTF-8 if it can be, and else Windows-1252.
    """
    for mark, name in _MARKS.items():
        if page.startswith(mark):
            return page[len(mark) :].decode(name, "replace")
    said = _known(charset) or _known(_in_meta(page))
    if said:
        return page.decode(said, "replace")
    try:
        return page.decode()
    except UnicodeDecodeError:
        return page.decode("cp1252", "replace")


def _in_meta(page: bytes) -> str | None:
    found = _META.search(page, 0, _SEARCHED)
    return found[1].decode("ascii", "replace") if found else None


@lru_cache(1024)
def _known(name: str | None) -> str | None:
    """Python's name of a charset of text; other codecs of its, such as base64, are not meant."""
    try:
        found = codecs.lookup(name or "").name
        "x".encode(found)
    except (LookupError, ValueError, TypeError):
        return None
    return _MEANT.get(found, found)
