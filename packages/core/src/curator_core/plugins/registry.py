"""The registry of installed plugins. Broken plugins are disabled, with the reason."""

import inspect
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import pluggy

from curator_core.errors import PluginError, hint
from curator_core.plugins import hookspecs
from curator_core.plugins.catalog import Catalog, Offer
from curator_core.plugins.hookspecs import GROUP

VARIABLE = "CURATOR_PLUGINS"
KINDS = ("stages", "executors", "workflows", "report_sections", "observers", "commands")
_OWN = "core"


@dataclass(frozen=True)
class PluginInfo:
    """A working plugin and what it offers, as kind -> name -> place."""

    name: str
    distribution: str
    version: str
    offers: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class BrokenPlugin:
    """A disabled plugin and the reason."""

    name: str
    distribution: str
    version: str
    cause: str

    def __str__(self) -> str:
        origin = f" of {self.distribution} {self.version}" if self.distribution else ""
        return f"plugin {self.name!r}{origin} is disabled: {self.cause}"


class Plugins:
    """All names that the installed plugins offer, and the plugins that are broken."""

    def __init__(self) -> None:
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.stages = Catalog("stage")
        self.executors = Catalog("executor", short_names=True)
        self.workflows = Catalog("workflow")
        self.stages.others, self.workflows.others = (self.workflows,), (self.stages,)
        self.report_sections = Catalog("report section")
        self.observers = Catalog("observer")
        self.commands = Catalog("command")
        self.working: list[PluginInfo] = []
        self.broken: list[BrokenPlugin] = []

    def register(
        self, name: str, plugin: object, distribution: str = "", version: str = ""
    ) -> PluginInfo:
        """Register everything that a plugin offers, or nothing if any of it is invalid."""
        if self.manager.has_plugin(name):
            raise PluginError(f"plugin {name!r} is registered already")
        _refuse_unknown_hooks(plugin)
        self.manager.register(plugin, name=name)
        try:
            info = PluginInfo(name, distribution, version, self._offers_of(name))
            self._refuse_taken(info)
        except Exception:
            self.manager.unregister(name=name)
            raise
        for kind, places in info.offers.items():
            for offered, place in places.items():
                self._catalog(kind).add(Offer(offered, place, name, distribution, version))
        self.working.append(info)
        return info

    def register_entry_points(self, found: Iterable[EntryPoint]) -> None:
        """Register every entry point that loads. If several claim one name, refuse all of them."""
        claims: dict[str, dict[tuple[str, str], EntryPoint]] = {}
        for entry_point in found:
            owner = _distribution(entry_point)
            claims.setdefault(entry_point.name, {}).setdefault(owner, entry_point)
        for name in sorted(claims, key=lambda name: (name != _OWN, name)):
            if len(claims[name]) > 1:
                self._refuse_claimed_twice(name, list(claims[name]))
            else:
                owner, entry_point = next(iter(claims[name].items()))
                self._load(entry_point, *owner)

    def to_json(self) -> dict[str, Any]:
        """Return what each distribution offers, and which plugins are broken and why."""
        return {
            "plugins": [asdict(info) for info in self.working],
            "broken": [asdict(broken) for broken in self.broken],
        }

    def _load(self, entry_point: EntryPoint, distribution: str, version: str) -> None:
        try:
            self.register(entry_point.name, entry_point.load(), distribution, version)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - importing runs third-party code
            cause = str(error) if isinstance(error, PluginError) else _cause(error)
            self.broken.append(BrokenPlugin(entry_point.name, distribution, version, cause))

    def _refuse_claimed_twice(self, name: str, owners: list[tuple[str, str]]) -> None:
        names = " and ".join(sorted(f"{owner} {version}" for owner, version in owners))
        cause = f"the plugin name {name!r} is claimed by {names}; uninstall all but one of them"
        self.broken += [BrokenPlugin(name, owner, version, cause) for owner, version in owners]

    def _catalog(self, kind: str) -> Catalog:
        catalog: Catalog = getattr(self, kind)
        return catalog

    def _offers_of(self, name: str) -> dict[str, dict[str, str]]:
        offers: dict[str, dict[str, str]] = {}
        for kind in KINDS:
            hook: pluggy.HookCaller = getattr(self.manager.hook, f"curator_{kind}")
            for implementation in hook.get_hookimpls():
                if implementation.plugin_name == name:
                    given: Any = implementation.function()
                    _refuse_invalid_offers(name, hook.name, given)
                    offers[kind] = dict(sorted(given.items()))
        return offers

    def _refuse_taken(self, info: PluginInfo) -> None:
        for kind, places in info.offers.items():
            for name in places:
                if name in self._catalog(kind):
                    rival = self._catalog(kind)[name].owner
                    raise PluginError(f"{self._catalog(kind).kind} {name!r} is taken by {rival}")


@cache
def plugins() -> Plugins:
    """Return all installed plugins, or only `core` and those that CURATOR_PLUGINS lists (a,b,c)."""
    found = Plugins()
    available = list(entry_points(group=GROUP))
    wanted = os.environ.get(VARIABLE)
    if wanted is not None:
        chosen = {_OWN, *(name.strip() for name in wanted.split(",") if name.strip())}
        known = {entry_point.name for entry_point in available}
        for name in sorted(chosen - known):
            cause = f"{VARIABLE} names it, but no such plugin is installed{hint(name, known)}"
            found.broken.append(BrokenPlugin(name, "", "", cause))
        available = [entry_point for entry_point in available if entry_point.name in chosen]
    found.register_entry_points(available)
    return found


def _distribution(entry_point: EntryPoint) -> tuple[str, str]:
    dist = entry_point.dist
    return (dist.name, dist.version) if dist is not None else ("", "")


def _cause(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


_HOOKS = frozenset(f"curator_{kind}" for kind in KINDS)


def _refuse_unknown_hooks(plugin: object) -> None:
    """Refuse a misspelt or unmarked hook, which pluggy would silently ignore."""
    for name, function in inspect.getmembers(plugin, inspect.isroutine):
        options = getattr(function, f"{GROUP}_impl", None)
        hook = (options or {}).get("specname") or name
        if options is not None and hook not in _HOOKS:
            raise PluginError(f"unknown hook {hook!r}{hint(hook, _HOOKS)}")
        if options is None and name.startswith("curator_"):
            raise PluginError(
                f"the function {name} is not marked with @hookimpl{_unknown_hook(name)}"
            )


def _unknown_hook(name: str) -> str:
    return "" if name in _HOOKS else f", and it is not a known hook{hint(name, _HOOKS)}"


_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_PLACE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


def _refuse_invalid_offers(plugin: str, hook: str, given: Any) -> None:
    if not isinstance(given, dict):
        raise PluginError(f"{hook} returns a {type(given).__name__}, but must return a dict")
    for name, place in given.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise PluginError(
                f"{hook} offers {name!r}, which is not a valid name (letters, digits, _ - .)"
            )
        if name != plugin and not name.startswith(f"{plugin}."):
            raise PluginError(
                f"{hook} offers {name!r}, but the names of plugin {plugin!r} are {plugin!r} itself "
                f"and those that begin with '{plugin}.'"
            )
        if not isinstance(place, str) or not _PLACE.fullmatch(place):
            raise PluginError(
                f'{hook} offers {name!r} at {place!r}, but a place is "module:attribute"'
            )
