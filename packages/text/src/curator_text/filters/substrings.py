"""Rules over how a text begins or ends, or what it contains."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

from curator_text.filtering import TextFilter
from curator_text.texts import Text

Position: TypeAlias = Literal["prefix", "suffix", "any"]


@dataclass
class SubstringFilter(TextFilter):
    """Keeps texts that contain a string at a given place."""

    cost: ClassVar[float] = 1.0

    substring: str
    """The string, matched exactly."""

    position: Position
    """Where the string must be: `prefix`, `suffix`, or `any` for anywhere."""

    @property
    def reason(self) -> str:
        where = {"prefix": "does not begin with", "suffix": "does not end with"}
        return f"{where.get(self.position, 'does not contain')} {self.substring!r}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if self.position not in get_args(Position):
            yield f"position is {self.position!r}, but must be one of prefix, suffix, any"

    def score(self, text: Text) -> float:
        """Return 1 if the string is found, otherwise 0."""
        if self.position == "prefix":
            return float(text.startswith(self.substring))
        if self.position == "suffix":
            return float(text.endswith(self.substring))
        return float(self.substring in text)

    def keeps(self, score: float) -> bool:
        return score == 1
