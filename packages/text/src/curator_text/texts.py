"""Texts: strings that remember what rules have asked of them."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

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
        return self.split()

    @feature
    def lines(self) -> list[str]:
        """The lines that are not blank, as they stand there."""
        return [line for line in self.split("\n") if line.strip()]

    @feature
    def lowered(self) -> str:
        return self.lower()
