"""Jobs: pipelines in a separate process, which a test can interrupt or kill."""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle

from curator_core.errors import CuratorError, RunInterrupted
from curator_core.model.tasks import AnyTask
from curator_core.pipeline import Pipeline
from curator_core.plan.executor import Executor


@dataclass
class Job:
    """A pipeline, and the arguments of `run`."""

    pipeline: Pipeline
    executor: Executor
    tasks: Sequence[AnyTask]
    options: dict[str, Any] = field(default_factory=dict)

    def start(self) -> "subprocess.Popen[bytes]":
        """Run the job in a new process that leads its group; exit codes are those of commands."""
        running = subprocess.Popen(
            [sys.executable, "-m", "curator_core.testing.contract.jobs"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert running.stdin is not None
        running.stdin.write(cloudpickle.dumps(self))
        running.stdin.close()
        running.stdin = None
        return running


def ended(running: "subprocess.Popen[bytes]", patience_s: float = 90.0) -> tuple[int, str]:
    """Wait for the process to end; return its exit code and its stderr output."""
    try:
        output = running.communicate(timeout=patience_s)[1].decode()
    finally:
        running.kill()
    return running.returncode, output


def wait_until(reached: Callable[[], bool], patience_s: float = 60.0) -> None:
    """Poll until `reached` returns True; raise an AssertionError after `patience_s`."""
    deadline = time.monotonic() + patience_s
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s:g} s in vain")
        time.sleep(0.01)


def _main() -> int:
    # This is safe: the input comes from the test that started this process.
    job: Job = cloudpickle.load(sys.stdin.buffer)
    try:
        job.pipeline.run(job.executor, job.tasks, **job.options)
    except (CuratorError, RunInterrupted) as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(_main())
