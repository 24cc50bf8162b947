"""Where things stand in a recipe, and what is wrong with them there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from curator_core.recipes.permissions import Permissions

Path: TypeAlias = tuple[str | int, ...]

MOST_MESSAGES = 100


@dataclass(frozen=True)
class Document:
    """A recipe as plain data, and for each part of it the line it stands on.

    A place is a line number, or the name of the setting that put it there. What is `spoiled` has
    been complained about already.
    """

    file: str
    data: dict[str, Any] = field(repr=False)
    places: Mapping[Path, int | str] = field(repr=False)
    spoiled: frozenset[Path] = field(default=frozenset(), repr=False)
    problems: tuple[tuple[int | str, str], ...] = field(default=(), repr=False)

    def place(self, path: Path) -> int | str:
        """Where `path` stands, or else the nearest thing around it."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, 1)

    def is_from_file(self, path: Path) -> bool:
        """Whether the recipe itself says what is at `path`, and not whoever runs it."""
        return isinstance(self.place(path), int)

    def at(self, path: Path) -> Any:
        """What stands at `path`; None where nothing does."""
        found: Any = self.data
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found


class Problems:
    """Collects what is wrong, so that all of it can be told at once."""

    def __init__(self, document: Document, permissions: "Permissions") -> None:
        self.document = document
        self.permissions = permissions
        self._spoiled = set(document.spoiled)
        self._found: dict[tuple[int | str, str], None] = dict.fromkeys(document.problems)

    def add(self, path: Path, text: str) -> None:
        if not any(path[:length] in self._spoiled for length in range(len(path) + 1)):
            self._found[self.document.place(path), text] = None

    def spoil(self, path: Path, text: str) -> None:
        """What is wrong at `path`, after which nothing else about it is worth saying."""
        self.add(path, text)
        self._spoiled.add(path)

    def __len__(self) -> int:
        return len(self._found)

    def messages(self) -> list[str]:
        """One sentence each, in the order of the file; settings come last."""
        found = sorted(self._found, key=lambda item: (isinstance(item[0], str), item[0]))
        messages = [f"{self._shown(place)}: {text}" for place, text in found[:MOST_MESSAGES]]
        more = len(found) - len(messages)
        return [*messages, f"and {more} more problems"] if more else messages

    def _shown(self, place: int | str) -> str:
        return place if isinstance(place, str) else f"{self.document.file}:{place}"
