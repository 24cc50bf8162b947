"""What travels to the nodes of a cluster by value: the driver's own modules, where they differ."""

import os
import sys
from types import ModuleType

import cloudpickle
from curator_core import Plan, WorkerInfo
from curator_core.local.ipc import pack_plan
from curator_core.local.pickling import ByValueModules


class Baggage:
    """The pipeline as bytes, and with it what a worker could not import.

    A worker on this machine is told where we look for modules. One on another machine does not
    have what lies beside the script, so for `far` workers those modules are sent whole.
    """

    def __init__(self, *, far: bool) -> None:
        self._luggage = ByValueModules()
        self._far = far
        self._registered: list[ModuleType] = []

    def pack(self, plan: Plan) -> bytes:
        self._luggage.register_plan(plan)
        if self._far:
            self._register_own_modules()
        return pack_plan(plan, (), WorkerInfo())

    def pack_kind(self, kind: type) -> None:
        """Tasks of this class are about to travel."""
        self._luggage.register([kind.__module__])

    def unpack(self) -> None:
        """Let pickle be as it was."""
        self._luggage.unregister()
        while self._registered:
            cloudpickle.unregister_pickle_by_value(self._registered.pop())

    def _register_own_modules(self) -> None:
        by_value = cloudpickle.list_registry_pickle_by_value()
        for name, module in list(sys.modules.items()):
            if name != "__main__" and name not in by_value and _lies_beside_the_script(module):
                cloudpickle.register_pickle_by_value(module)
                self._registered.append(module)


def search_path() -> list[str]:
    """Where this process finds modules, as far as they are folders or archives."""
    return [os.path.abspath(entry) for entry in sys.path]


def extend_search_path(entries: list[str]) -> None:
    """Look there too, after all that is known here already."""
    sys.path.extend(e for e in entries if e not in sys.path and os.path.exists(e))


def _lies_beside_the_script(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if not file or "site-packages" in file:
        return False
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    folders = {os.getcwd(), os.path.dirname(os.path.abspath(script)) if script else os.getcwd()}
    top = module.__name__.count(".") + (os.path.basename(file) == "__init__.py")
    folder = os.path.abspath(file)
    for _ in range(top + 1):
        folder = os.path.dirname(folder)
    return folder in folders and folder != os.path.dirname(os.__file__)


def refuse_what_cannot_travel(plan: Plan, *, far: bool) -> None:
    """Raise where a plan cannot be sent to workers, before any is started."""
    baggage = Baggage(far=far)
    try:
        baggage.pack(plan)
    finally:
        baggage.unpack()
