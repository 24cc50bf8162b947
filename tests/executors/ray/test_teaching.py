"""What Ray's pickler learns of other libraries waits for them, and is there before their data."""

import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("ray")
pytest.importorskip("pyarrow")

HEAD = """
import sys
import importlib, threading
from curator_ray.postponing import import_ray
ray = import_ray()
from ray.cloudpickle import CloudPickler
from ray.util import serialization_addons as addons

class Pickler:
    def _register_cloudpickle_serializer(self, kind, **_):
        print("learns", kind.__name__)
    def _register_cloudpickle_reducer(self, kind, _):
        print("learns", kind.__name__)

def there(*names):
    return sorted(set(names) & set(sys.modules))

pickler = Pickler()
addons.apply(pickler)
print(there("pyarrow", "pydantic"))
"""


def said(program: str) -> list[str]:
    return subprocess.run(
        [sys.executable, "-c", HEAD + program],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout.splitlines()


def test_nothing_is_imported_for_it() -> None:
    assert said("") == ["[]"]


@pytest.mark.parametrize("library", ["import pyarrow", "import pyarrow.parquet"])
def test_it_is_taught_as_soon_as_a_library_is_there(library: str) -> None:
    lines = said(f"{library}\nprint(sys.modules['pyarrow'].array([1]).to_pylist())")
    assert lines[0] == "[]"
    assert "learns Table" in lines
    assert lines[-1] == "[1]"


def test_it_is_taught_once() -> None:
    lines = said("import pyarrow\nimport pydantic\nimportlib.reload(pyarrow)")
    assert lines.count("learns Table") == 1


def test_who_comes_later_is_taught_at_once() -> None:
    assert "learns Table" in said("import pyarrow\nprint('-')\naddons.apply(Pickler())")[-9:]


def test_a_library_that_is_not_installed_is_missed_as_ever() -> None:
    program = """
from curator_ray import teaching
teaching._TAUGHT = ("no_such_library", "pyarrow")
for name in ("no_such_library", "pyarrow"):
    try:
        print(importlib.import_module(name).__name__)
    except ModuleNotFoundError as error:
        print(error)
"""
    lines = said(program)
    assert lines[1] == "No module named 'no_such_library'"
    assert ("learns Table" in lines, lines[-1]) == (True, "pyarrow")


def test_other_modules_of_the_same_loader_teach_nothing() -> None:
    program = """
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
class All:
    def create_module(self, spec): return None
    def exec_module(self, module): print("runs", module.__name__)
loader = All()
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name in ("pyarrow", "pyarrow_other"):
            return ModuleSpec(name, loader)
from curator_ray.teaching import Teacher
teacher = Teacher(lambda pickler: print("teaches"))
sys.meta_path.insert(0, Finder())
teacher(pickler)
found = teacher.find_spec("pyarrow")
loader.exec_module(module_from_spec(ModuleSpec("pyarrow_other", loader)))
loader.exec_module(module_from_spec(found))
loader.exec_module(module_from_spec(found))
"""
    assert said(program)[1:] == ["runs pyarrow_other", "runs pyarrow", "teaches", "runs pyarrow"]


def test_what_goes_wrong_is_not_the_importers_business() -> None:
    program = """
del pickler
from curator_ray.teaching import Teacher
tried = []
def apply(pickler):
    tried.append(pickler)
    if len(tried) == 1:
        raise ImportError("half of it is missing")
    print("learns")
teacher, mine = Teacher(apply), Pickler()
teacher(mine)
import pyarrow
print("well")
import pydantic
"""
    assert said(program)[1:] == ["well", "learns"]  # the next library tries again


def test_two_threads_may_import_at_once() -> None:
    program = """
threads = [threading.Thread(target=importlib.import_module, args=[name])
           for name in ("pyarrow", "pydantic")]
for thread in threads: thread.start()
for thread in threads: thread.join(30)
print(any(thread.is_alive() for thread in threads))
"""
    lines = said(program)
    assert (lines[-1], lines.count("learns Table")) == ("False", 1)


def test_on_a_cluster_tables_travel_from_a_process_that_imported_them_late(script: Any) -> None:
    text = """
        import sys
        import ray
        from curator_ray.connecting import connected

        @ray.remote(num_cpus=0)
        class Worker:
            def modules(self):
                return sorted({"pyarrow", "pydantic", "numpy"} & set(sys.modules))

            def rows(self, table):
                return table.num_rows, len(ray.cloudpickle.dumps(table.slice(0, 1)))

        with connected():
            worker = Worker.remote()
            print(ray.get(worker.modules.remote()), "pyarrow" in sys.modules)
            import pyarrow
            table = pyarrow.table({"x": list(range(100_000))})
            rows, size = ray.get(worker.rows.remote(table))
            print(rows, size < 10_000, len(ray.cloudpickle.dumps(table.slice(0, 1))) < 10_000)
        """
    told, errors = script(text).communicate(timeout=90)
    assert told.splitlines() == ["[] False", "100000 True True"], errors
