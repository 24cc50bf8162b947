"""Modifiers of single characters: normal forms, entities, damage done by wrong encodings."""

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.model.resources import WorkerInfo
from curator_core.model.unicode import stream_safe

from curator_text.combining import stream_safe_column
from curator_text.modifying import TextModifier, TextRewriter

NormalForm = Literal["NFC", "NFKC", "NFD", "NFKD"]

# White space among the control characters is left to the WhitespaceNormalizer: to take away a
# form feed or a next-line would make one word of two.
_CONTROLS = r"[\x00-\x08\x0e-\x1b\x7f-\x{84}\x{86}-\x{9f}]+"

# A number with more digits stands for no character; to read thousands of them would be work.
_ENTITY = re.compile(
    r"&(?:#[0-9]{1,9}(?![0-9]);?|#[xX][0-9a-fA-F]{1,8}(?![0-9a-fA-F]);?|[^\t\n\f <&#;]{1,32};?)"
)

# In plain ASCII there is nothing to repair but entities and control characters.
_SOUND = re.compile(r"[\t\n\x20-\x25\x27-\x7e]*")


@dataclass
class UnicodeNormalizer(TextModifier):
    """Writes characters that look the same in the same way, so that they compare equal.

    Rows of over 30 combining marks, which no writing system has, get a U+034F after each 30, as
    Unicode's stream-safe format says: to sort thousands of them could take hours.
    """

    form: NormalForm = "NFC"
    """The Unicode normal form. NFKC also unfolds ligatures and full-width letters."""

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.utf8_normalize(stream_safe_column(texts), form=self.form)


@dataclass
class ControlCharacterRemover(TextModifier):
    """Takes out NUL bytes, escapes and other characters that only a terminal understands.

    Tabs, line ends and the other control characters that are white space stay.
    """

    def modify(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        return pc.replace_substring_regex(texts, _CONTROLS, "")


@dataclass
class HtmlEntityDecoder(TextRewriter):
    """Writes `&amp;`, `&eacute;` and `&#8364;` as the characters that they stand for."""

    def rewrite(self, text: str) -> str:
        return _ENTITY.sub(lambda found: html.unescape(found[0]), text) if "&" in text else text


@dataclass
class UnicodeReformatter(TextRewriter):
    """Repairs texts that were decoded wrongly (`schÃ¶n`), by ftfy, with its own options."""

    config: Any = None
    """In Python, a `ftfy.TextFixerConfig` in place of all other options."""

    unescape_html: bool | Literal["auto"] = "auto"
    """Decode HTML entities; `auto` does so unless there is a `<` in the text."""

    remove_terminal_escapes: bool = True
    """Take out the codes that change colours in a terminal."""

    fix_encoding: bool = True
    """Find text that was decoded in the wrong encoding, and decode it again."""

    restore_byte_a0: bool = True
    """In doing so, take a space for a no-break space where that makes sense of its neighbours."""

    replace_lossy_sequences: bool = True
    """In doing so, write U+FFFD for what was already lost in part."""

    decode_inconsistent_utf8: bool = True
    """In doing so, also mend single places of a text that is not wrong as a whole."""

    fix_c1_controls: bool = True
    """Take C1 control characters for what Windows-1252 has in their place."""

    fix_latin_ligatures: bool = False
    """Write ligatures as the letters that they are made of."""

    fix_character_width: bool = False
    """Write full-width Latin letters and half-width Katakana in their usual width."""

    uncurl_quotes: bool = False
    """Write typographic quotation marks as straight ones."""

    fix_line_breaks: bool = False
    """Write every kind of line end as `\\n`."""

    fix_surrogates: bool = True
    """Join surrogates to the characters that they are halves of."""

    remove_control_chars: bool = True
    """Take out control characters that show nothing."""

    normalization: NormalForm | None = None
    """A Unicode normal form to write the text in."""

    max_decode_length: int = 1_000_000
    """The most characters that are looked at together."""

    def check(self) -> Iterable[str]:
        if self.config is None:
            return
        if not hasattr(self.config, "fix_encoding"):
            yield f"config is {self.config!r:.60}, but must be a ftfy.TextFixerConfig"
        given = [name for name in _FIXES if getattr(self, name) != _FIXES[name]]
        if given:
            yield f"config stands for all options of ftfy, but {', '.join(given)} is given too"

    def setup(self, worker: WorkerInfo) -> None:
        import ftfy  # noqa: F401 - its tables are built before the first text comes

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
"""The options of ftfy, and what they are by default."""
