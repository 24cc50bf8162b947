"""Pack a plan for workers, with the modules that they cannot import."""

import os
import sys
from types import ModuleType

import cloudpickle
from curator_core import Plan, WorkerInfo
from curator_core.local.ipc import pack_plan
from curator_core.local.pickling import ByValueModules


class PlanPacker:
    """Pickles a plan so that workers can load it.

    Workers on this machine get its module search path. Workers on other machines do not have the
    modules beside the user's script, so `send_modules` pickles those by value.
    """

    def __init__(self, *, send_modules: bool) -> None:
        self._by_value = ByValueModules()
        self._send_modules = send_modules
        self._registered: list[ModuleType] = []

    def pack(self, plan: Plan) -> bytes:
        self._by_value.register_plan(plan)
        if self._send_modules:
            self._register_own_modules()
        return pack_plan(plan, (), WorkerInfo())

    def add_task_type(self, task_type: type) -> None:
        """Prepare for tasks of this class. Call it before they are pickled."""
        self._by_value.register([task_type.__module__])

    def close(self) -> None:
        """Restore cloudpickle's settings."""
        self._by_value.unregister()
        while self._registered:
            cloudpickle.unregister_pickle_by_value(self._registered.pop())

    def _register_own_modules(self) -> None:
        by_value = cloudpickle.list_registry_pickle_by_value()
        for name, module in list(sys.modules.items()):
            if name != "__main__" and name not in by_value and _is_beside_script(module):
                cloudpickle.register_pickle_by_value(module)
                self._registered.append(module)


def check_plan_can_be_sent(plan: Plan, *, send_modules: bool) -> None:
    """Raise if a plan cannot be pickled, before any worker is started."""
    packer = PlanPacker(send_modules=send_modules)
    try:
        packer.pack(plan)
    finally:
        packer.close()


def search_path() -> list[str]:
    """Return where this process looks for modules, as absolute paths."""
    return [os.path.abspath(entry) for entry in sys.path]


def extend_search_path(entries: list[str]) -> None:
    """Look for modules there too, after the entries of this process."""
    sys.path.extend(e for e in entries if e not in sys.path and os.path.exists(e))


def _is_beside_script(module: ModuleType) -> bool:
    """Whether a module, or its package, is in the script's folder or the working directory."""
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
