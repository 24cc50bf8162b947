"""Teaching: what Ray's pickler learns of other libraries waits until one of them is there.

Ray imports pydantic and pyarrow in each of its processes, a tenth of a second and twenty megabytes,
so that it can pickle what only who has imported them can have.
"""

import sys
import threading
from collections.abc import Callable, Sequence
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
    """Waits for the first import of one of the libraries, and teaches once that is done.

    It stays among the finders of modules: whoever is looking for one on another thread would
    overlook the next finder if this one left.
    """

    def __init__(self, apply: Apply) -> None:
        self._apply = apply
        self._waiting: WeakSet[Any] = WeakSet()
        self._claiming = threading.Lock()
        self._here = threading.local()

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
        if name not in _TAUGHT or not self._waiting or getattr(self._here, "is_looking", False):
            return None
        self._here.is_looking = True
        try:
            found = find_spec(name)
        finally:
            self._here.is_looking = False
        if found is None or not hasattr(found.loader, "exec_module"):  # others know what to say
            return None
        self._teach_after(name, found.loader)
        return found

    def _teach_after(self, name: str, loader: Any) -> None:
        execute = loader.exec_module

        def execute_and_teach(module: ModuleType) -> None:
            execute(module)
            if module.__name__ == name:  # one loader may be that of several modules
                loader.exec_module = execute
                self._teach()

        loader.exec_module = execute_and_teach

    def _teach(self) -> None:
        with self._claiming:  # two libraries may be there at once
            claimed = list(self._waiting)
            self._waiting.clear()
        for pickler in claimed:
            try:
                self._apply(pickler)
            except Exception:  # noqa: BLE001 - it is not for this that the library was imported
                self._waiting.add(pickler)  # another one may be missing


def teach_when_needed() -> None:
    """From now on; where Ray's inside looks other than it did, it does as it always does."""
    from ray.util import serialization_addons

    apply = getattr(serialization_addons, "apply", None)
    if apply is not None and not isinstance(apply, Teacher):
        serialization_addons.apply = Teacher(apply)
