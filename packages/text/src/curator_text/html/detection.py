"""Detection: guess the charset of a page that declares none."""

import re

from curator_text.html.labels import codec_of

MODULE = "resiliparse"
DEFAULT = "cp1252"
"""Fallback if the detector finds nothing either."""

_TAGS = re.compile(rb"[<>]")
_SAMPLE_BYTES = 128 * 1024
_BROKEN_SHARE = 0.1
"""A page still counts as UTF-8 if at most this share of its non-ASCII characters is broken."""

_UTF_16 = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_JAPANESE = (b"\x1b$B", b"\x1b$@")
"""Escape sequences that switch ISO-2022-JP, which is pure ASCII, to Japanese."""


def decode_undeclared(page: bytes) -> str:
    """Decode a page in its most likely charset."""
    codec = _UTF_16.get(page[:2])
    if codec is None and b"\x1b$" in page and any(mark in page for mark in _JAPANESE):
        codec = "iso2022_jp_ext"
    if codec is not None:
        return page.decode(codec, "replace")
    try:
        return page.decode()
    except UnicodeDecodeError:
        text = page.decode("utf-8", "replace")
    return text if _is_utf_8(text) else page.decode(_guess(page), "replace")


def _is_utf_8(text: str) -> bool:
    """Return whether text decoded with replacements is mostly valid UTF-8.

    Other charsets hardly ever form valid multi-byte sequences.
    """
    broken = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return broken <= beyond_ascii * _BROKEN_SHARE


def _guess(page: bytes) -> str:
    from resiliparse.parse.encoding import detect_encoding

    parts = (part for part in _TAGS.split(page) if not part.isascii())
    found = detect_encoding(b" ".join(parts)[:_SAMPLE_BYTES], html5_compatible=False)
    codec = codec_of(found)
    return DEFAULT if codec in (None, "utf-8") else codec
