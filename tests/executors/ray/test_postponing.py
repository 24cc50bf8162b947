"""Ray is imported without what it hardly ever calls, and nobody notices who does call it."""

import subprocess
import sys
from pathlib import Path

import pytest


def said(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_what_ray_hardly_calls_is_not_imported() -> None:
    program = """
import sys
from pathlib import Path
from curator_ray.postponing import import_ray
ray = import_ray()
import ray._private.workers.default_worker
print(ray.__name__, *sorted({"requests", "jsonschema", "wcwidth"} & set(sys.modules)))
"""
    assert said(program) == "ray\n"


def test_it_is_there_for_whoever_asks() -> None:
    program = """
import sys
from pathlib import Path
from curator_ray.postponing import import_ray
import_ray()
from ray._common.usage import usage_lib
waiting = usage_lib.requests
assert "requests" not in sys.modules
print(waiting.get.__name__, waiting.exceptions.Timeout.__name__)
import requests, requests.adapters
print(type(requests).__name__, requests.get is waiting.get)
"""
    assert said(program) == "get Timeout\nmodule True\n"


@pytest.mark.parametrize("ours_first", [True, False])
def test_a_submodule_can_be_imported_while_its_package_waits(ours_first: bool) -> None:
    program = f"""
from curator_ray.postponing import postponed
with postponed():
    if {ours_first}:
        import requests
    from requests.exceptions import Timeout
    import requests.adapters
import requests
print(Timeout.__name__, requests.exceptions.Timeout is Timeout, requests.adapters is not None)
"""
    assert said(program) == "Timeout True True\n"


def test_what_is_not_installed_stays_so() -> None:
    program = """
import importlib.util, sys
real = importlib.util.find_spec
importlib.util.find_spec = lambda name: None if name == "wcwidth" else real(name)
import curator_ray.postponing as postponing
with postponing.postponed():
    print("wcwidth" in sys.modules, "requests" in sys.modules)
"""
    assert said(program) == "False True\n"


def test_who_asks_while_another_thread_imports_it_waits() -> None:
    program = """
import threading
from curator_ray.postponing import import_ray, is_initialized
thread = threading.Thread(target=import_ray)
thread.start()
while thread.is_alive():
    assert not is_initialized()
"""
    assert said(program) == ""


def test_a_folder_of_its_name_is_no_ray(tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    program = f"""
import sys
from pathlib import Path
from curator_ray.postponing import is_installed
print(is_installed())
sys.path[:] = [{str(tmp_path)!r}]
print(is_installed())
"""
    assert said(program) == "True\nFalse\n"
