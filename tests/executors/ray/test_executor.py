"""What all executors on Ray find out before Ray is imported."""

import subprocess
import sys
from pathlib import Path


def output_of(program: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def test_an_unconnected_process_does_not_import_ray() -> None:
    program = """
import sys
from curator_ray.cluster.connection import is_initialized
print(is_initialized(), "ray" in sys.modules)
"""
    assert output_of(program) == "False False\n"


def test_another_thread_may_import_ray_at_the_same_time() -> None:
    program = """
import threading
from curator_ray.cluster.connection import is_initialized
thread = threading.Thread(target=__import__, args=["ray"])
thread.start()
while thread.is_alive():
    assert not is_initialized()
"""
    assert output_of(program) == ""


def test_a_folder_named_ray_is_not_ray(tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    program = f"""
import sys
from curator_ray.executor import is_ray_installed
print(is_ray_installed())
sys.path[:] = [{str(tmp_path)!r}]
print(is_ray_installed())
"""
    assert output_of(program) == "True\nFalse\n"
