"""What every engine is given to do: the same steps on the same tasks, whoever runs them.

A task is a dict with an `id`. The last step notes when it was done with it.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

Payload = dict[str, Any]
MIB = 1 << 20


class RuinedTaskError(Exception):
    """What a task is that was made to fail."""


@dataclass(frozen=True)
class Step:
    """One step. It sleeps, unless it is told to do something else as well."""

    sleep_s: float = 0.0
    slower_from: int | None = None
    """From this task on it takes five times as long."""

    makes_bytes: int = 0
    """It gives each task an array of so many bytes."""

    reads_array: bool = False
    """It makes a new array of the one that it is given."""

    ends_array: bool = False
    raises_at: int | None = None
    dies_at: int | None = None
    is_last: bool = False

    def __call__(self, task: Payload) -> Payload:
        done = dict(task)
        self._wait(done)
        self._misbehave(int(done["id"]))
        if self.makes_bytes or self.reads_array or self.ends_array:
            self._handle_array(done)
        if self.is_last:
            done["end"] = time.time()
        return done

    def _wait(self, task: Payload) -> None:
        seconds = self.sleep_s
        if self.slower_from is not None and task["id"] >= self.slower_from:
            task["slow_since"] = time.time()
            seconds *= 5
        if seconds:
            time.sleep(seconds)

    def _misbehave(self, number: int) -> None:
        if number == self.raises_at:
            raise RuinedTaskError(f"task {number} is ruined")
        if number == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def _handle_array(self, task: Payload) -> None:
        import numpy as np

        if self.makes_bytes:
            task["array"] = np.full(self.makes_bytes, task["id"] % 251, np.uint8)
        elif self.reads_array:
            task["array"] = task["array"] ^ np.uint8(1)
        else:
            task["sum"] = int(task.pop("array")[::4096].sum())


@dataclass(frozen=True)
class Work:
    """A line of steps, how many tasks go through it, and the CPUs that each step asks for."""

    steps: tuple[Step, ...]
    tasks: int
    cpus: float = 0.25

    def inputs(self) -> Iterator[Payload]:
        return ({"id": number} for number in range(self.tasks))


def sleeping(*milliseconds: float) -> tuple[Step, ...]:
    return tuple(Step(sleep_s=ms / 1000) for ms in milliseconds)


def cold(tasks: int, cpus: float = 0.25) -> Work:
    return Work(sleeping(0, 0), tasks, cpus)


def mixed(tasks: int) -> Work:
    return Work(sleeping(5, 40, 10), tasks)


def tiny(tasks: int) -> Work:
    return Work(sleeping(0, 0, 0), tasks)


def jump(tasks: int) -> Work:
    first, middle, last = sleeping(10, 10, 10)
    return Work((first, replace(middle, slower_from=tasks // 2), last), tasks)


def arrays(tasks: int, array_bytes: int, cpus: float) -> Work:
    steps = (Step(makes_bytes=array_bytes), Step(reads_array=True), Step(ends_array=True))
    return Work(steps, tasks, cpus)


def raising(tasks: int) -> Work:
    first, middle, last = sleeping(2, 2, 2)
    return Work((first, replace(middle, raises_at=tasks // 2), last), tasks)


def killing(tasks: int) -> Work:
    first, middle, last = sleeping(2, 2, 2)
    return Work((first, replace(middle, dies_at=tasks // 2), last), tasks)


CASES: dict[str, Callable[..., Work]] = {
    case.__name__: case for case in (cold, mixed, tiny, jump, arrays, raising, killing)
}


def work_of(wanted: Mapping[str, Any]) -> Work:
    """The work that `{"case": …, "tasks": …}` stands for; its last step takes the time."""
    options = {name: value for name, value in wanted.items() if name != "case"}
    work = CASES[wanted["case"]](**options)
    *others, last = work.steps
    return replace(work, steps=(*others, replace(last, is_last=True)))
