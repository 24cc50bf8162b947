"""Permissions of recipes: set outside of the recipe, which may be untrusted."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

TRUST_VARIABLE = "CURATOR_TRUST_CODE"
NAMES_VARIABLE = "CURATOR_RECIPE_ENV"
_YES = ("1", "true", "yes")


@dataclass(frozen=True)
class Permissions:
    """What recipes may do beyond reading and writing data over the usual protocols."""

    trust_code: bool = False
    """Run code that comes with models."""

    allow_python: bool = False
    """Run functions of Python files beside the recipe."""

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
        self,
        *,
        trust_code: bool = False,
        allow_python: bool = False,
        protocols: Iterable[str] = (),
        variables: Iterable[str] = (),
    ) -> "Permissions":
        """Return these permissions with more added."""
        return Permissions(
            self.trust_code or trust_code,
            self.allow_python or allow_python,
            self.protocols | set(protocols),
            self.variables | set(variables),
        )


def known_protocols() -> set[str]:
    """Return all protocols that fsspec can open, built in or registered."""
    from fsspec import available_protocols
    from fsspec.registry import registry

    return {*available_protocols(), *registry}
