"""Permissions of recipes: set outside of the recipe, which may be untrusted."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from curator_core.io.filesystems import USUAL_PROTOCOLS
from curator_core.recipes.problems import Path, Problems

TRUST_VARIABLE = "CURATOR_TRUST_CODE"
NAMES_VARIABLE = "CURATOR_RECIPE_ENV"
_YES = ("1", "true", "yes")


@dataclass(frozen=True)
class Permissions:
    """What recipes may do beyond reading and writing data over the usual protocols."""

    trust_code: bool = False
    """Run code that comes with models."""

    protocols: frozenset[str] = frozenset()
    """fsspec protocols allowed in addition to the usual ones."""

    variables: frozenset[str] = frozenset()
    """Environment variables that may be read."""

    @classmethod
    def of_environment(cls) -> "Permissions":
        """Read CURATOR_TRUST_CODE and CURATOR_RECIPE_ENV (names, separated by commas)."""
        names = os.environ.get(NAMES_VARIABLE, "").split(",")
        return cls(
            trust_code=os.environ.get(TRUST_VARIABLE, "").lower() in _YES,
            variables=frozenset(name.strip() for name in names if name.strip()),
        )

    def widened(
        self, *, trust_code: bool, protocols: Iterable[str], variables: Iterable[str]
    ) -> "Permissions":
        """Return these permissions with more added."""
        return Permissions(
            self.trust_code or trust_code,
            self.protocols | set(protocols),
            self.variables | set(variables),
        )


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
        if name.endswith("_variable") and (said := variable_problem(value, where, problems)):
            yield where, said
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


def known_protocols() -> set[str]:
    """Return all protocols that fsspec can open, built in or registered."""
    from fsspec import available_protocols
    from fsspec.registry import registry

    return {*available_protocols(), *registry}


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
