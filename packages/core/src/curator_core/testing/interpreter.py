"""Fresh interpreters: measure the modules that code loads and the time it takes."""

import subprocess
import sys


def in_fresh_interpreter(code: str) -> str:
    """Run `code` in a new interpreter and return what it prints.

    Raise an AssertionError with its traceback if it fails.
    """
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if ended.returncode:
        raise AssertionError(f"in a fresh interpreter it failed:\n{ended.stderr.rstrip()}")
    return ended.stdout


def modules_loaded_by(code: str) -> set[str]:
    """Return the full names of all modules loaded in a new interpreter after running `code`."""
    printed = in_fresh_interpreter(f"{code}\nimport sys; print('\\n', *sys.modules)")
    return set(printed.rpartition("\n ")[2].split())


def seconds_to_run(code: str, repeats: int = 5) -> float:
    """Return the seconds that `code` takes after Python has started: the best of several runs.

    This is CPU time, so other load on the machine does not count.
    """
    clock = "import time as _t; print(_t.process_time())"
    best = float("inf")
    for _ in range(repeats):
        lines = in_fresh_interpreter(f"{clock}\n{code}\n{clock}").split()
        best = min(best, float(lines[-1]) - float(lines[0]))
    return best
