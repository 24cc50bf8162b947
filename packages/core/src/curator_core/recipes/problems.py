"""Documents and problems: recipe data with line numbers, and the messages that refer to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from curator_core.recipes.permissions import Permissions

Path: TypeAlias = tuple[str | int, ...]

MOST_MESSAGES = 100


@dataclass(frozen=True)
class Document:
    """A recipe as plain data, with the place of each of its parts.

    A place is a line number, or the name of the setting that changed the part. Problems of
    `spoiled` parts are already reported.
    """

    file: str
    data: dict[str, Any] = field(repr=False)
    places: Mapping[Path, int | str] = field(repr=False)
    spoiled: frozenset[Path] = field(default=frozenset(), repr=False)
    problems: tuple[tuple[int | str, str], ...] = field(default=(), repr=False)

    def place(self, path: Path) -> int | str:
        """Return the place of `path`, or of its nearest parent."""
        while path and path not in self.places:
            path = path[:-1]
        return self.places.get(path, 1)

    def is_from_file(self, path: Path) -> bool:
        """Return whether the value at `path` comes from the recipe, and not from a setting."""
        return isinstance(self.place(path), int)

    def at(self, path: Path) -> Any:
        """Return the value at `path`, or None."""
        found: Any = self.data
        for part in path:
            try:
                found = found[part]
            except (KeyError, IndexError, TypeError):
                return None
        return found


class Problems:
    """Collects problems so that all of them can be reported at once."""

    def __init__(self, document: Document, permissions: "Permissions") -> None:
        self.document = document
        self.permissions = permissions
        self._spoiled = set(document.spoiled)
        self._found: dict[tuple[int | str, str], None] = dict.fromkeys(document.problems)

    def add(self, path: Path, text: str) -> None:
        if not any(path[:length] in self._spoiled for length in range(len(path) + 1)):
            self._found[self.document.place(path), text] = None

    def spoil(self, path: Path, text: str) -> None:
        """Report a problem at `path`, and suppress further problems there."""
        self.add(path, text)
        self._spoiled.add(path)

    def __len__(self) -> int:
        return len(self._found)

    def messages(self) -> list[str]:
        """Return one message per problem in the order of the file, settings last."""
        found = sorted(self._found, key=lambda item: (isinstance(item[0], str), item[0]))
        messages = [f"{self._shown(place)}: {text}" for place, text in found[:MOST_MESSAGES]]
        more = len(found) - len(messages)
        return [*messages, f"and {more} more problems"] if more else messages

    def _shown(self, place: int | str) -> str:
        return place if isinstance(place, str) else f"{self.document.file}:{place}"
