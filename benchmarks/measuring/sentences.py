"""Real sentences whose language is known: messages of programs that Debian packages translate."""

import re
import struct
from collections.abc import Iterator

from measuring.paragraphs import Paragraph, differs, language_of, unpacked

PACKAGES = (
    "libglib2.0-data", "libgtk-3-common", "nautilus-data", "gnome-control-center-data",
    "evolution-common",
)  # fmt: skip
OF_EACH = 150
FEWEST = 50
"""A language with fewer sentences is left out."""

LEAST_LETTERS = 35

_MAGIC = 0x950412DE
_MARKUP = re.compile(r"<[^>]+>|%[-+ #0-9.]*l?[a-zA-Z]|\$\{?\w+\}?|&\w+;|https?://\S+|[_&](?=\w)")


def sentences(of_each: int = OF_EACH) -> list[Paragraph]:
    """As many of each language; English ones are the originals of the others."""
    found: dict[str, dict[str, None]] = {"en": {}}
    for package in PACKAGES:
        locales = unpacked(package) / "usr" / "share" / "locale"
        for path in sorted(locales.glob("*/LC_MESSAGES/*.mo")):
            name = path.parts[-3]
            if "@" in name or name.startswith("en"):  # another script or region
                continue
            own = found.setdefault(language_of(name), {})
            for original, text in _messages(path.read_bytes()):
                original, text = _plain(original), _plain(text)
                if _is_sentence(text) and _is_sentence(original) and differs(text, original):
                    own[text] = None
                    found["en"][original] = None
    return [
        Paragraph(text, language)
        for language, texts in sorted(found.items())
        if len(texts) >= FEWEST
        for text in _spread(list(texts), of_each)
    ]


def _messages(data: bytes) -> Iterator[tuple[str, str]]:
    """The messages of a catalogue and their translations, plural forms left out."""
    order = "<" if struct.unpack("<I", data[:4])[0] == _MAGIC else ">"
    _, _, count, originals, translations = struct.unpack(f"{order}5I", data[:20])
    for place in range(count):
        pair = []
        for table in (originals, translations):
            size, start = struct.unpack_from(f"{order}2I", data, table + 8 * place)
            pair.append(data[start : start + size].decode("utf-8", "replace"))
        original = pair[0].partition("\x04")[2] or pair[0]
        if original and not any("\0" in text for text in pair):
            yield original, pair[1]


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub("", text).split())


def _is_sentence(text: str) -> bool:
    return sum(map(str.isalpha, text)) >= LEAST_LETTERS


def _spread(texts: list[str], number: int) -> Iterator[str]:
    """Texts from all over the list."""
    wanted = min(number, len(texts))
    for place in range(wanted):
        yield texts[place * len(texts) // wanted]
