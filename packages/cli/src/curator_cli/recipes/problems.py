"""Recipe data with line numbers, and its problems, including what is not permitted."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from curator_core.io.filesystems import USUAL_PROTOCOLS

from curator_cli.recipes.permissions import (
    NAMES_VARIABLE,
    TRUST_VARIABLE,
    Permissions,
    known_protocols,
)

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

    def __init__(self, document: Document, permissions: Permissions) -> None:
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
        messages = [f"{self._format_place(place)}: {text}" for place, text in found[:MOST_MESSAGES]]
        more = len(found) - len(messages)
        return [*messages, f"and {more} more problems"] if more else messages

    def _format_place(self, place: int | str) -> str:
        return place if isinstance(place, str) else f"{self.document.file}:{place}"


def variable_problem(name: str, path: Path, problems: Problems) -> str | None:
    """Return the problem if the recipe reads a variable without permission."""
    if not problems.document.is_from_file(path) or name in problems.permissions.variables:
        return None
    return (
        f"the recipe reads the environment variable {name!r}; allow it with --env {name}, or with "
        f"{NAMES_VARIABLE}={name}"
    )


def option_problems(
    values: dict[str, Any], path: Path, problems: Problems
) -> Iterator[tuple[Path, str]]:
    """Yield the path and text of each problem where options ask for more than is permitted."""
    for where, value in _leaves(values, path):
        if not problems.document.is_from_file(where):
            continue
        name = str(where[-1])
        if name.endswith("_variable") and (problem := variable_problem(value, where, problems)):
            yield where, problem
        for protocol in _protocols_of(where, value):
            if protocol not in USUAL_PROTOCOLS | problems.permissions.protocols:
                yield (
                    where,
                    f"recipes may not use the protocol {protocol!r} by themselves; if it is "
                    f"meant, run with --allow-protocol {protocol}",
                )


def cluster_problems(problems: Problems) -> Iterator[tuple[Path, str]]:
    """Yield a problem where the recipe chooses the cluster, whose answers are unpickled here."""
    for inside in ((), ("config",), ("options",)):
        path: Path = ("executor", *inside, "address")
        document = problems.document
        if document.at(path) is None or not document.is_from_file(path):
            continue
        if not problems.permissions.trust_code:
            yield (
                path,
                "executor: a cluster that the recipe names could run code here; if you trust it, "
                f"run with --trust-code, or with {TRUST_VARIABLE}=1",
            )


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield the texts, and the keys of nested mappings, within a value, with their paths."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, dict):
                yield (*path, key, "protocol"), str(key)
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _leaves(item, (*path, at))


def _protocols_of(path: Path, text: str) -> Iterator[str]:
    """Yield the unusual protocols that fsspec would find in a text."""
    is_name = str(path[-1]).endswith("protocol") and any(
        str(part).endswith("storage_options") for part in path
    )
    links = text.split("::")
    words = {link.partition("://")[0] for link in links if "://" in link or len(links) > 1}
    found = {word.lower() for word in (words | {text} if is_name else words)} - USUAL_PROTOCOLS
    if found:
        yield from sorted(found & known_protocols())
