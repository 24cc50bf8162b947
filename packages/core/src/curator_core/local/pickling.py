"""Pickling: send by value what workers cannot import.

Examples are scripts, notebooks, and test files loaded in a special way.
"""

import sys
from collections.abc import Iterable
from types import ModuleType

import cloudpickle

from curator_core.plan.plan import Plan


class ByValueModules:
    """Modules whose classes and functions are pickled by value during the life of a pool."""

    def __init__(self) -> None:
        self._registered: list[ModuleType] = []
        self._known: set[str] = {"__main__", "builtins"}

    def register_plan(self, plan: Plan) -> None:
        for planned in plan.stages:
            kinds = [*type(planned.stage).__mro__, planned.input_type, planned.output_type]
            functions = [value for value in vars(planned.stage).values() if callable(value)]
            self.register(
                getattr(thing, "__module__", None) or "" for thing in [*kinds, *functions]
            )

    def register(self, modules: Iterable[str]) -> None:
        for name in modules:
            if name in self._known:
                continue
            self._known.add(name)
            module = sys.modules.get(name)
            if module is not None and not _can_be_imported(name):
                cloudpickle.register_pickle_by_value(module)
                self._registered.append(module)

    def unregister(self) -> None:
        while self._registered:
            cloudpickle.unregister_pickle_by_value(self._registered.pop())


def _can_be_imported(name: str) -> bool:
    """Whether a new process could import the module; ignores what is already imported."""
    top = name.partition(".")[0]
    for finder in sys.meta_path:
        find_spec = getattr(finder, "find_spec", None)
        if find_spec is not None and find_spec(top, None) is not None:
            return True
    return False
