"""Charsets: decode the bytes of a page as a browser would."""

import codecs
import re
from functools import lru_cache

_META = re.compile(rb"<meta\b([^>]{0,600}+)", re.I)
_CHARSET = re.compile(rb"charset\s*+=\s*+[\"']?+\s*+([\w.:-]{2,40}+)", re.I)
_SEARCHED = 4096

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_UTF_16 = frozenset({"utf-16-le", "utf-16-be"})
_PRIVATE_USE = {byte: 0xF700 + byte for byte in range(0x80, 0x100)}
"""x-user-defined maps bytes beyond ASCII to these code points."""


def decode_page(page: bytes, charset: str | None = None) -> str:
    """Decode a page.

    A byte order mark takes precedence, then the server's charset, then the one declared in the
    page. An undeclared page is decoded as UTF-8 if it is mostly valid; otherwise its charset is
    detected.
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if page.startswith(mark):
            return page[len(mark) :].decode(name, "replace")
    codec = _find_served_codec(page, charset) or _find_declared_codec(page)
    if codec is None:
        return decode_undeclared(page)
    if codec == REPLACEMENT:
        return "\ufffd"
    if codec == USER_DEFINED:
        return page.decode("latin-1").translate(_PRIVATE_USE)
    return page.decode(codec, "replace")


def _find_served_codec(page: bytes, charset: str | None) -> str | None:
    """Return the server's charset.

    A page without NUL bytes is not UTF-16, whatever the server says.
    """
    codec = find_codec(charset)
    return None if codec in _UTF_16 and b"\0" not in page[:_SEARCHED] else codec


def _find_declared_codec(page: bytes) -> str | None:
    """Return the charset declared in the page.

    If the declaration is readable as ASCII, the page cannot be UTF-16 or x-user-defined.
    """
    codec = find_codec(_find_meta_charset(page))
    if codec in _UTF_16:
        return "utf-8"
    return "cp1252" if codec == USER_DEFINED else codec


def _find_meta_charset(page: bytes) -> str | None:
    for tag in _META.finditer(page, 0, _SEARCHED):
        if found := _CHARSET.search(tag[1]):
            return found[1].decode("ascii", "replace")
    return None


CHARSET_DETECTOR = "resiliparse"
DEFAULT_CODEC = "cp1252"
"""Fallback if the detector finds nothing either."""

_TAGS = re.compile(rb"[<>]")
_SAMPLE_BYTES = 128 * 1024
_BROKEN_SHARE = 0.1
"""A page still counts as UTF-8 if at most this share of its non-ASCII characters is broken."""

_UTF_16_TAGS = {b"<\0": "utf-16-le", b"\0<": "utf-16-be"}
_JAPANESE = (b"\x1b$B", b"\x1b$@")
"""Escape sequences that switch ISO-2022-JP, which is pure ASCII, to Japanese."""


def decode_undeclared(page: bytes) -> str:
    """Decode a page in its most likely charset."""
    codec = _UTF_16_TAGS.get(page[:2])
    if codec is None and b"\x1b$" in page and any(mark in page for mark in _JAPANESE):
        codec = "iso2022_jp_ext"
    if codec is not None:
        return page.decode(codec, "replace")
    try:
        return page.decode()
    except UnicodeDecodeError:
        text = page.decode("utf-8", "replace")
    return text if _is_utf_8(text) else page.decode(_detect_codec(page), "replace")


def _is_utf_8(text: str) -> bool:
    """Return whether text decoded with replacements is mostly valid UTF-8.

    Other charsets hardly ever form valid multi-byte sequences.
    """
    broken = text.count("\ufffd")
    beyond_ascii = len(text) - len(text.encode("ascii", "ignore"))
    return broken <= beyond_ascii * _BROKEN_SHARE


def _detect_codec(page: bytes) -> str:
    from resiliparse.parse.encoding import detect_encoding

    parts = (part for part in _TAGS.split(page) if not part.isascii())
    found = detect_encoding(b" ".join(parts)[:_SAMPLE_BYTES], html5_compatible=False)
    codec = find_codec(found)
    return DEFAULT_CODEC if codec in (None, "utf-8") else codec


USER_DEFINED = "x-user-defined"
REPLACEMENT = "replacement"

_LABELS = {  # Python's codec: its labels
    "utf-8": "unicode-1-1-utf-8 unicode11utf8 unicode20utf8 utf-8 utf8 x-unicode20utf8",
    "cp866": "866 cp866 csibm866 ibm866",
    "iso8859-2": """
        csisolatin2 iso-8859-2 iso-ir-101 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 l2 latin2
    """,
    "iso8859-3": """
        csisolatin3 iso-8859-3 iso-ir-109 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 l3 latin3
    """,
    "iso8859-4": """
        csisolatin4 iso-8859-4 iso-ir-110 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 l4 latin4
    """,
    "iso8859-5": """
        csisolatincyrillic cyrillic iso-8859-5 iso-ir-144 iso8859-5 iso88595 iso_8859-5
        iso_8859-5:1988
    """,
    "iso8859-6": """
        arabic asmo-708 csiso88596e csiso88596i csisolatinarabic ecma-114 iso-8859-6 iso-8859-6-e
        iso-8859-6-i iso-ir-127 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987
    """,
    "iso8859-7": """
        csisolatingreek ecma-118 elot_928 greek greek8 iso-8859-7 iso-ir-126 iso8859-7 iso88597
        iso_8859-7 iso_8859-7:1987 sun_eu_greek
    """,
    "iso8859-8": """
        csiso88598e csiso88598i csisolatinhebrew hebrew iso-8859-8 iso-8859-8-e iso-8859-8-i
        iso-ir-138 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 logical visual
    """,
    "iso8859-10": "csisolatin6 iso-8859-10 iso-ir-157 iso8859-10 iso885910 l6 latin6",
    "iso8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso8859-15": "csisolatin9 iso-8859-15 iso8859-15 iso885915 iso_8859-15 l9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "cskoi8r koi koi8 koi8-r koi8_r",
    "koi8-u": "koi8-ru koi8-u",
    "mac-roman": "csmacintosh mac macintosh x-mac-roman",
    "cp874": "dos-874 iso-8859-11 iso8859-11 iso885911 tis-620 windows-874",
    "cp1250": "cp1250 windows-1250 x-cp1250",
    "cp1251": "cp1251 windows-1251 x-cp1251",
    "cp1252": """
        ansi_x3.4-1968 ascii cp1252 cp819 csisolatin1 ibm819 iso-8859-1 iso-ir-100 iso8859-1
        iso88591 iso_8859-1 iso_8859-1:1987 l1 latin1 us-ascii windows-1252 x-cp1252
    """,
    "cp1253": "cp1253 windows-1253 x-cp1253",
    "cp1254": """
        cp1254 csisolatin5 iso-8859-9 iso-ir-148 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 l5
        latin5 windows-1254 x-cp1254
    """,
    "cp1255": "cp1255 windows-1255 x-cp1255",
    "cp1256": "cp1256 windows-1256 x-cp1256",
    "cp1257": "cp1257 windows-1257 x-cp1257",
    "cp1258": "cp1258 windows-1258 x-cp1258",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "gb18030": """
        chinese csgb2312 csiso58gb231280 gb18030 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 x-gbk
    """,
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "cseucpkdfmtjapanese euc-jp x-euc-jp",
    "iso2022_jp_ext": "csiso2022jp iso-2022-jp",
    "cp932": "csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis",
    "cp949": """
        cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601
        ksc_5601 windows-949
    """,
    "iso2022_kr": "csiso2022kr iso-2022-kr",
    "hz": "hz-gb-2312",
    "replacement": "iso-2022-cn iso-2022-cn-ext replacement",
    "utf-16-be": "unicodefffe utf-16be",
    "utf-16-le": "csunicode iso-10646-ucs-2 ucs-2 unicode unicodefeff utf-16 utf-16le",
    "x-user-defined": "x-user-defined",
}

_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}

_NOT_CHARSETS = frozenset(
    [
        "idna",
        "mbcs",
        "oem",
        "punycode",
        "raw-unicode-escape",
        "undefined",
        "unicode-escape",
        "utf-7",
        "utf-16",
    ]
)
"""Python codecs that decode bytes to text, but that no page uses."""


@lru_cache(1024)
def find_codec(label: str | None) -> str | None:
    """Return Python's codec for a charset label, or None if it is unknown.

    The standard takes precedence; names that only Python knows, such as `cp850`, work too. HZ and
    ISO-2022-KR are decoded: the standard forbids them because they can hide scripts from filters,
    but extracted text has no scripts.
    """
    name = (label or "").strip("\t\n\f\r ").lower()
    if name in _CODECS:
        return _CODECS[name]
    try:
        found = codecs.lookup(name).name
        "x".encode(found)  # raises for codecs such as base64, which are not charsets
    except (LookupError, ValueError, TypeError):
        return None
    if found.replace("_", "-") in _NOT_CHARSETS:
        return None
    return _CODECS.get(found) or _CODECS.get(found.replace("_", "-")) or found
