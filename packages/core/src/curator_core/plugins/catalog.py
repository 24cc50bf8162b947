"""A catalog: names of one kind, each loaded on first use."""

import importlib
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from curator_core.errors import PluginError, hint, nearest
from curator_core.plugins.extras import find_extra


@dataclass(frozen=True)
class Offer:
    """A name, the place of what it names, and the plugin that provides it."""

    name: str
    place: str
    plugin: str
    distribution: str = ""
    version: str = ""

    @property
    def owner(self) -> str:
        return f"{self.distribution} {self.version}" if self.distribution else self.plugin


class Catalog(Mapping[str, Offer]):
    """Names of one kind. `short_names` allows the last part of a name instead of the whole."""

    def __init__(self, kind: str, *, short_names: bool = False) -> None:
        self.kind = kind
        self._short_names = short_names
        self._offers: dict[str, Offer] = {}
        self.others: tuple[Catalog, ...] = ()
        """Catalogs of other kinds whose names may be used here by mistake."""

    def __getitem__(self, name: str) -> Offer:
        return self._offers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._offers))

    def __len__(self) -> int:
        return len(self._offers)

    @property
    def places(self) -> dict[str, str]:
        """All names with their places, for listing."""
        return {name: self._offers[name].place for name in self}

    def add(self, offer: Offer) -> None:
        self._offers[offer.name] = offer

    def find(self, name: str) -> Offer:
        """Return the entry for `name` without loading it."""
        if name in self._offers:
            return self._offers[name]
        full = self._full_names(name)
        if self._short_names and len(full) == 1:
            return self._offers[full[0]]
        raise PluginError(f"no {self.kind} named {name!r}{self._suggestion(name, full)}")

    def load(self, name: str) -> Any:
        """Import and return the object called `name`."""
        offer = self.find(name)
        module, _, path = offer.place.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as error:  # importing runs third-party code
            raise PluginError(self._does_not_load(offer, error)) from error
        return found

    def name_of(self, thing: object) -> str | None:
        """Return the name of a class or object in this catalog, or None."""
        place = f"{getattr(thing, '__module__', '')}:{getattr(thing, '__qualname__', '')}"
        exact = [name for name in self if self._offers[name].place == place]
        if exact:
            return exact[0]
        return next((name for name in self if self.loaded(name) is thing), None)

    def loaded(self, name: str) -> object:
        """Return the object called `name` if its module is imported; import nothing."""
        module, _, path = self._offers[name].place.partition(":")
        found: Any = sys.modules.get(module)
        for part in path.split("."):
            found = getattr(found, part, None)
        return found

    def _full_names(self, name: str) -> list[str]:
        if "." in name:
            return []
        return [known for known in self if known.rpartition(".")[2] == name]

    def _suggestion(self, name: str, full: list[str]) -> str:
        if full:
            return f" (did you mean {' or '.join(full)}?)"
        for other in self.others:
            if name in other:
                return f": it is a {other.kind}, not a {self.kind}{_how_to_use(other.kind, name)}"
        package = name.partition(".")[0]
        if package in _SIBLINGS and not any(known.startswith(f"{package}.") for known in self):
            distribution = f"curator-{package.replace('_', '-')}"
            return f": it is in {distribution}: pip install {distribution}"
        return (self._by_meaning(name) or hint(name, self._offers)) + self._other_executors()

    def _by_meaning(self, name: str) -> str:
        """Suggest what the words of a name find, unless one of them is misspelt."""
        if self.kind not in ("stage", "workflow") or not self._offers:
            return ""
        if self.kind == "stage" and _FUNCTION.fullmatch(name):
            return (
                "; for a function of your own, write `python: FILE.py:FUNCTION` and run with "
                "--allow-python"
            )
        from curator_core.plugins.index import packaged_index
        from curator_core.plugins.search import Query, words_of

        offered = {known for catalog in (self, *self.others) for known in catalog}
        plugins = {known.partition(".")[0] for known in offered}
        described = packaged_index()
        query = Query(name.rpartition(".")[2])
        vocabulary = {word for known in offered for word in words_of(known)}
        is_spelled_right = all(word.text in vocabulary for word in query.words)
        if nearest(name, self._offers) and not is_spelled_right:
            return ""
        words = shlex.quote(" ".join(word.text for word in query.words))
        advice = f"see `curate stages --search {words}`"
        known = [
            one for one in described.values() if one.name in offered or one.plugin not in plugins
        ]
        found = query.nearest(known)
        if installed := [one for one in found if one in offered]:
            return f" (did you mean {' or '.join(installed)}?); {advice}"
        if found:
            package = described[found[0]].distribution
            return f" (did you mean {found[0]} of {package}? pip install {package}); {advice}"
        return "; to list them: `curate stages`"

    def _other_executors(self) -> str:
        """Suggest installing the Ray executors if only core's executors are installed."""
        if self.kind != "executor" or any(not name.startswith("core.") for name in self):
            return ""
        return "; for the executors on Ray: pip install curator-streaming"

    def _does_not_load(self, offer: Offer, error: Exception) -> str:
        message = (
            f"{self.kind} {offer.name!r} of {offer.owner} does not load: {offer.place}: {error}"
        )
        missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
        extra = find_extra(missing, offer.distribution) if missing else None
        return f"{message}; pip install '{offer.distribution}[{extra}]'" if extra else message


_SIBLINGS = frozenset(
    ("text", "dedup", "image", "video", "audio", "streaming", "ray_data", "actor_pool")
)
"""Plugins of this project, suggested if a name is unknown because they are not installed."""


_FUNCTION = re.compile(r"[\w./-]+:\w+")
"""A name like that of a Python function in a file."""


def _how_to_use(kind: str, name: str) -> str:
    """Return how a recipe names a stage or workflow as a step."""
    return f"; as a step, write `{kind}: {name}`" if kind in ("stage", "workflow") else ""
