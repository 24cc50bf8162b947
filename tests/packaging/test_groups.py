"""Tests in several processes: those that share a Ray, or a file's fixtures, run in one process."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [
    "tests/executors/actor_pool/test_call_size.py",
    "tests/executors/actor_pool/test_placement.py",
]


def test_what_is_in_one_file_is_run_by_one_process() -> None:
    pytest.importorskip("xdist")
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    finished = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", "tests/pytest.ini", "--rootdir", ".", "-v",
         "-p", "no:cacheprovider", "--numprocesses", "2", "--dist", "loadgroup", *FILES],
        cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300,
    )  # fmt: skip

    runs = re.findall(r"\[(gw\d)\].* PASSED (\S+?)::", finished.stdout)
    assert len(runs) > len(FILES), finished.stdout + finished.stderr
    assert sorted({file for _, file in runs}) == FILES
    assert len(set(runs)) == len(FILES), sorted(set(runs))
