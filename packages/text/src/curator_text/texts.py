"""Texts: strings that cache the features that rules compute from them."""

from collections.abc import Callable
from itertools import compress
from typing import Any, Generic, Self, TypeVar, overload

from curator_text.sharing import words_of
from curator_text.wording import Wording, WordKind, tokenized

T = TypeVar("T")


class feature(Generic[T]):  # noqa: N801 - used as a decorator, like property
    """A value derived from a text: computed on first use, then cached."""

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
        text.__dict__[self.name] = value  # from now on found before this descriptor
        return value


class Text(str):
    """One document's text.

    It is a plain string too, for functions that use no features.
    """

    @feature
    def words(self) -> list[str]:
        """The words, split at white space."""
        return words_of(self)

    @feature
    def wording(self) -> Wording:
        """The words split at white space, with their statistics."""
        return Wording(self.words, "whitespace")

    def worded(self, kind: WordKind) -> Wording:
        """Return the words of one kind, with their statistics; each kind is computed once."""
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
        """The lines that are not blank, unchanged."""
        return self._line_parts[0]

    @feature
    def stripped_lines(self) -> list[str]:
        """The lines that are not blank, without surrounding white space."""
        return self._line_parts[1]

    @feature
    def paragraphs(self) -> list[str]:
        """The blocks between empty lines. A paragraph may be empty."""
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
        """The text as bytes, to count ASCII characters; a lone surrogate takes three bytes."""
        return self.encode("utf-8", "surrogatepass")

    def count_ascii(self, characters: bytes) -> int:
        """Count the characters of the text that are among these ASCII characters."""
        data = self.utf8
        return len(data) - len(data.translate(None, characters))
