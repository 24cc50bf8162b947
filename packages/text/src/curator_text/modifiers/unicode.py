"""Modifiers of characters: normal forms, entities, wrong encodings."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import WorkerInfo
from curator_core.model.unicode import stream_safe

from curator_text.modifiers.base import TextModifier, TextRewriter
from curator_text.text_columns import make_stream_safe

NormalForm = Literal["NFC", "NFKC", "NFD", "NFKD"]

# Control characters that are white space are left to WhitespaceNormalizer: removing a form feed or
# next-line would join two words.
_CONTROLS = r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}]+"

# Longer numbers are not valid characters, and parsing thousands of digits would be slow.
_ENTITY = re.compile(
    r"&(?:#[0-9]{1,9}(?![0-9]);?|#[xX][0-9a-fA-F]{1,8}(?![0-9a-fA-F]);?|[^\t\n\f <&#;]{1,32};?)"
)

# Plain ASCII needs no repair except for entities and control characters.
_SOUND = re.compile(r"[\t\n\x20-\x25\x27-\x7e]*")


@dataclass
class UnicodeNormalizer(TextModifier):
    """Converts equivalent characters to one normal form, so that they compare equal.

    Runs of over 30 combining marks, which no writing system uses, get a U+034F after each 30, as in
    Unicode's stream-safe format: sorting thousands of marks could take hours.
    """

    form: NormalForm = "NFC"
    """The Unicode normal form. NFKC also replaces ligatures and full-width letters."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.utf8_normalize(make_stream_safe(texts), form=self.form)


@dataclass
class ControlCharacterRemover(TextModifier):
    """Removes NUL bytes, escapes and other control characters.

    Tabs, line ends and other control characters that are white space stay.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring_regex(texts, _CONTROLS, "")


@dataclass
class HtmlEntityDecoder(TextRewriter):
    """Replaces `&amp;`, `&eacute;` and `&#8364;` with the characters they represent."""

    def rewrite(self, text: str) -> str:
        return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


@dataclass
class UnicodeReformatter(TextRewriter):
    """Repairs wrongly decoded text (`schÃ¶n`) with ftfy and its options."""

    config: Any = None
    """In Python, a `ftfy.TextFixerConfig` that replaces all other options."""

    unescape_html: bool | Literal["auto"] = "auto"
    """Decode HTML entities; `auto` does so unless the text contains `<`."""

    remove_terminal_escapes: bool = True
    """Remove escape codes that change colors in a terminal."""

    fix_encoding: bool = True
    """Find text that was decoded with the wrong encoding, and decode it again."""

    restore_byte_a0: bool = True
    """While fixing the encoding, read a space as a no-break space where the context requires it."""

    replace_lossy_sequences: bool = True
    """While fixing the encoding, write U+FFFD for sequences that were partly lost."""

    decode_inconsistent_utf8: bool = True
    """While fixing the encoding, also repair parts of a text that is otherwise correct."""

    fix_c1_controls: bool = True
    """Replace C1 control characters with their Windows-1252 counterparts."""

    fix_latin_ligatures: bool = False
    """Replace ligatures with separate letters."""

    fix_character_width: bool = False
    """Replace full-width Latin letters and half-width Katakana with their usual forms."""

    uncurl_quotes: bool = False
    """Replace typographic quotation marks with straight ones."""

    fix_line_breaks: bool = False
    """Replace all kinds of line ends with `\\n`."""

    fix_surrogates: bool = True
    """Combine surrogate pairs into the characters that they encode."""

    remove_control_chars: bool = True
    """Remove control characters without visible effect."""

    normalization: NormalForm | None = None
    """The Unicode normal form of the result, if any."""

    max_decode_length: int = 1_000_000
    """Maximum number of characters to process together."""

    def check(self) -> Iterable[str]:
        if self.config is None:
            return
        if not hasattr(self.config, "fix_encoding"):
            yield f"config is {self.config!r:.60}, but must be a ftfy.TextFixerConfig"
        given = [name for name in _FIXES if getattr(self, name) != _FIXES[name]]
        if given:
            yield f"config stands for all options of ftfy, but {', '.join(given)} is given too"

    def setup(self, worker: WorkerInfo) -> None:
        import ftfy  # noqa: F401 - builds its tables before the first text

    def rewrite(self, text: str) -> str:
        import ftfy

        if _SOUND.fullmatch(text):
            return text
        config = self.config
        if config is None:
            chosen: Any = {name: getattr(self, name) for name in _FIXES}
            config = ftfy.TextFixerConfig(explain=False, **chosen)
        if config.normalization is not None:
            text = stream_safe(text)
        return ftfy.fix_text(text, config)


_FIXES = {
    one.name: one.default
    for one in fields(UnicodeReformatter)
    if one.name not in ("config", "text_field")
}
"""The options of ftfy and their defaults."""
