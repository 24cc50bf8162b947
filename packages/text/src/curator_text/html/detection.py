"""Detection: the charset of a page that declares none."""

import re

from curator_text.html.labels import codec_of

MODULE = "resiliparse"
DEFAULT = "cp1252"
"""Where the detector cannot tell either."""

_TAGS = re.compile(rb"[<>]")
_SAMPLE_BYTES = 128 * 1024
_BROKEN_SHARE = 0.1
"""A page is still UTF-8 if this share of its characters beyond ASCII is damaged or cut off."""

_UTF_16 = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_JAPANESE = (b"\x1b$B", b"\x1b$@")
"""How ISO-2022-JP, which is all ASCII, changes to Japanese."""


def decode_undeclared(page: bytes) -> str:
    """The text in the charset that it most likely has."""
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
    """Whether a text that was decoded with replacements is UTF-8 for the most part.

    Other charsets hardly ever form a valid sequence of several bytes.
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
