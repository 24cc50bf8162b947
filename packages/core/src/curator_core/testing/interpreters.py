"""What code costs in an interpreter of its own: the modules it loads, the time it takes."""

import subprocess
import sys


def in_fresh_interpreter(code: str) -> str:
    """What `code` prints in a new interpreter; an AssertionError with its traceback if it fails."""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    if ended.returncode:
        raise AssertionError(f"in a fresh interpreter it failed:\n{ended.stderr.rstrip()}")
    return ended.stdout


def modules_loaded_by(code: str) -> set[str]:
    """The full names of all modules that a fresh interpreter holds after running `code`."""
    printed = in_fresh_interpreter(f"{code}\nimport sys; print('\\n', *sys.modules)")
    return set(printed.rpartition("\n ")[2].split())


def seconds_to_run(code: str, repeats: int = 5) -> float:
    """How long `code` computes once Python has started: the best of several fresh interpreters.

    CPU time: what else the machine does counts for nothing.
    """
    clock = "import time as _t; print(_t.process_time())"
    best = float("inf")
    for _ in range(repeats):
        lines = in_fresh_interpreter(f"{clock}\n{code}\n{clock}").split()
        best = min(best, float(lines[-1]) - float(lines[0]))
    return best
