"""Teaching: what Ray's pickler learns of other libraries waits until one of them is there.

Ray imports pydantic and pyarrow in each of its processes, a tenth of a second and twenty megabytes,
so that it can pickle what only who has imported them can have.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from weakref import WeakSet

_TAUGHT = ("pyarrow", "pydantic", "starlette")

Apply = Callable[[Any], None]
"""As Ray calls it for each pickler: it learns all that there is to learn."""


class Teacher(MetaPathFinder):
    """Waits for the first import of one of the libraries, and teaches once that is done."""

    def __init__(self, apply: Apply) -> None:
        self._apply = apply
        self._waiting: WeakSet[Any] = WeakSet()

    def __call__(self, pickler: Any) -> None:
        """In the place of Ray's own: at once where it may be needed, later where it cannot."""
        if any(name in sys.modules for name in _TAUGHT):
            self._apply(pickler)
            return
        self._waiting.add(pickler)
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _TAUGHT:
            return None
        with suppress(ValueError):  # another thread was faster
            sys.meta_path.remove(self)
        found = find_spec(name)
        if found is None or found.loader is None:  # whoever asks is told so by others
            sys.meta_path.insert(0, self)
            return None
        self._teach_after(found.loader)
        return found

    def _teach_after(self, loader: Any) -> None:
        execute = loader.exec_module

        def execute_and_teach(module: ModuleType) -> None:
            del loader.exec_module
            execute(module)
            self._teach()

        loader.exec_module = execute_and_teach

    def _teach(self) -> None:
        for pickler in list(self._waiting):
            with suppress(Exception):  # it is not for this that the library was imported
                self._apply(pickler)
        self._waiting.clear()


def teach_when_needed() -> None:
    """From now on; where Ray's inside looks other than it did, it does as it always does."""
    from ray.util import serialization_addons

    apply = getattr(serialization_addons, "apply", None)
    if apply is not None and not isinstance(apply, Teacher):
        serialization_addons.apply = Teacher(apply)
