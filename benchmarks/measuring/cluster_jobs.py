"""Jobs that start a cluster: all that they start is watched, and is gone when they are over."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from measuring.timing import JobFailedError, Outcome, compile_ours
from measuring.trees import TreeWatch

SAMPLE_S, MEMORY_SAMPLE_S = 0.25, 0.03
"""Memory is looked at often: a run of 200 tasks is over in a third of a second."""

GRACE_S = 5.0


def run_cluster_job(
    script: Path,
    *arguments: object,
    python: str = sys.executable,
    watch_memory: bool = False,
    limit_s: float = 180.0,
) -> Outcome:
    """Run a script that starts Ray, and tell it when it was asked for (its last argument).

    What it says goes to files, since a daemon that outlives it would keep a pipe open.
    """
    compile_ours()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complaint:
        begun = time.time()
        process = subprocess.Popen(
            [python, str(script), *map(str, arguments), str(begun)],
            stdout=said,
            stderr=complaint,
            env=_environment(),
            start_new_session=True,
        )
        every_s = MEMORY_SAMPLE_S if watch_memory else SAMPLE_S
        watch = TreeWatch(process.pid, every_s=every_s, memory=watch_memory)
        watch.start()
        try:
            if not _has_ended(process, limit_s):
                raise JobFailedError(script.name, f"still running after {limit_s:g} s")
        finally:
            seconds = time.time() - begun
            watch.stop()
            watch.clear_away(GRACE_S if process.poll() is not None else 0.0)
            process.wait()
        if process.returncode:
            raise JobFailedError(script.name, _text(complaint) or _text(said))
        return Outcome(_facts(script, _text(said)), seconds, watch.peak_bytes, watch.cpu_s)


def _has_ended(process: subprocess.Popen[bytes], limit_s: float) -> bool:
    """Within so long; `wait` with a limit would look only every twentieth of a second."""
    waiting = threading.Thread(target=process.wait, daemon=True)
    waiting.start()
    waiting.join(limit_s)
    return not waiting.is_alive()


def _environment() -> dict[str, str]:
    """Nobody is led to another cluster or to others' modules, nor spends time on telling Ray's
    makers."""
    led = ("RAY_ADDRESS", "PYTHONPATH")
    kept = {name: value for name, value in os.environ.items() if name not in led}
    return {**kept, "RAY_USAGE_STATS_ENABLED": "0"}


def _text(file: IO[str]) -> str:
    file.seek(0)
    return file.read()


def _facts(script: Path, said: str) -> dict[str, Any]:
    for line in reversed(said.splitlines()):
        if line.startswith('{"'):
            facts: dict[str, Any] = json.loads(line)
            return facts
    raise JobFailedError(script.name, "it told no facts")
