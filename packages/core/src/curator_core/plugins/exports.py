"""Exports: the public names of a package, imported on first use.

A package lists its stages, workflows and executors in `plugin.py`, and its other public names in
`EXPORTS` there. Its `__init__.py` needs no list of its own:

    from curator_core.plugins.exports import lazy_exports

    from curator_shout import plugin

    __all__, __getattr__, __dir__ = lazy_exports(__name__, plugin)

`hatch run generate` writes the `__init__.pyi` from which type checkers and editors know the names.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, TypeAlias

Exports: TypeAlias = Mapping[str, Sequence[str]]
"""Names by the module that defines them."""

_HOOKS = ("curator_stages", "curator_executors", "curator_workflows")


def exports_of(source: ModuleType | Exports) -> dict[str, str]:
    """Return the public names of a `plugin` module, or of a plain list, with their modules."""
    if not isinstance(source, ModuleType):
        return dict(sorted((name, module) for module, names in source.items() for name in names))
    homes = exports_of(getattr(source, "EXPORTS", {}))
    for hook in _HOOKS:
        for place in getattr(source, hook, dict)().values():
            module, _, name = place.partition(":")
            homes[name] = module
    return dict(sorted(homes.items()))


def lazy_exports(
    package: str, source: ModuleType | Exports
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` for the `__init__.py` of a package.

    `source` is the package's `plugin` module; a package without plugin passes its names by module.
    """
    homes = exports_of(source)
    names = list(homes)

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return names, load, lambda: list(names)
