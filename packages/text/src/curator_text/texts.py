"""Texts: strings that remember what rules have asked of them."""

from collections.abc import Callable
from itertools import compress
from typing import Any, Generic, Self, TypeVar, overload

from curator_text.sharing import words_of
from curator_text.wording import Wording, WordKind, tokenized

T = TypeVar("T")


class feature(Generic[T]):  # noqa: N801 - it is used as a decorator, as property is
    """Something to know about a text: worked out when first asked for, then remembered."""

    def __init__(self, compute: "Callable[[Text], T]") -> None:
        self.compute = compute
        self.name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, text: None, kind: "type[Text]") -> Self: ...
    @overload
    def __get__(self, text: "Text", kind: "type[Text]") -> T: ...
    def __get__(self, text: "Text | None", kind: "type[Text]") -> Any:
        if text is None:
            return self
        value = self.compute(text)
        text.__dict__[self.name] = value  # found before this descriptor from now on
        return value


class Text(str):
    """One document's text. It is a plain string besides, for functions that know no features."""

    @feature
    def words(self) -> list[str]:
        """What white space separates."""
        return words_of(self)

    @feature
    def wording(self) -> Wording:
        """Its words as white space separates them, and what follows from them."""
        return Wording(self.words, "whitespace")

    def worded(self, kind: WordKind) -> Wording:
        """Its words of a kind, and what follows from them; each kind is worked out once."""
        if kind == "whitespace":
            return self.wording
        known: Wording | None = self.__dict__.get(kind)
        if known is None:
            known = self.__dict__[kind] = Wording(tokenized(self, kind), kind)
        return known

    @feature
    def _line_parts(self) -> tuple[list[str], list[str]]:
        raw = self.split("\n")
        stripped = list(map(str.strip, raw))
        return list(compress(raw, stripped)), list(filter(None, stripped))

    @feature
    def lines(self) -> list[str]:
        """The lines that are not blank, as they stand there."""
        return self._line_parts[0]

    @feature
    def stripped_lines(self) -> list[str]:
        """The lines that are not blank, without white space around them."""
        return self._line_parts[1]

    @feature
    def paragraphs(self) -> list[str]:
        """What stands between empty lines. A paragraph may be empty."""
        return self.split("\n\n")

    @feature
    def different_lines(self) -> set[str]:
        return set(self.lines)

    @feature
    def different_paragraphs(self) -> set[str]:
        return set(self.paragraphs)

    @feature
    def lowered(self) -> str:
        return self.lower()

    @feature
    def utf8(self) -> bytes:
        """Its bytes, to count ASCII characters in; a lone surrogate is three bytes there."""
        return self.encode("utf-8", "surrogatepass")

    def count_ascii(self, characters: bytes) -> int:
        """How many of its characters are among these ASCII characters."""
        data = self.utf8
        return len(data) - len(data.translate(None, characters))
