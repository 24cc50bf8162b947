"""Test stages: each has one trait that the contract tests."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from curator_core.io.atomic_write import open_draft
from curator_core.model.files import FileGroup
from curator_core.model.provenance import attach_model
from curator_core.model.resources import NodeInfo, WorkerInfo
from curator_core.model.scores import Scores, attach_scores
from curator_core.model.stages import ProcessingStage
from curator_core.model.tasks import Dropped, Empty, Mixed, Task
from curator_core.testing.contract.logs import note

Numbers = ProcessingStage[Task[int], Task[int]]


@dataclass
class Lists(ProcessingStage[Empty, Task[int]]):
    """Lists numbers, as the first stage of a pipeline without given tasks."""

    count: int = 10

    def process(self, task: Empty) -> Iterator[Task[int]]:
        yield from map(Task, range(self.count))


@dataclass
class Adds(Numbers):
    amount: int = 1

    def process(self, task: Task[int]) -> Task[int]:
        return task.with_data(task.data + self.amount)


@dataclass
class FansOut(Numbers):
    """Returns 100 n, 100 n + 1, … for n, as a list or as a generator."""

    count: int = 3
    lazily: bool = False

    def process(self, task: Task[int]) -> Any:
        outputs = (Task(task.data * 100 + position) for position in range(self.count))
        return outputs if self.lazily else list(outputs)


@dataclass
class KeepsEven(Numbers):
    """Drops odd numbers, some without a reason."""

    def process(self, task: Task[int]) -> Any:
        if task.data % 2 == 0:
            return task
        return Dropped("odd") if task.data % 3 == 0 else None


SCALES = "scales sha256:0123456789ab"


@dataclass
class Weighs(Numbers):
    """Reports every number as a score, names a model, and drops numbers from `limit` on."""

    limit: int = 7

    def process(self, task: Task[int]) -> Any:
        weighed = task.with_data(task.data)
        if task.data < self.limit:
            attach_scores(weighed, "weight", Scores.of([task.data]))
            attach_model(weighed, SCALES)
            return weighed
        attach_scores(weighed, "weight", Scores.of([], [task.data]))
        return Dropped("heavy", records=weighed)


@dataclass
class Logs(Numbers):
    """Logs every number, and fails at each one once on its worker: that attempt does not count."""

    log: str

    def process(self, task: Task[int]) -> Task[int]:
        self.log_metrics({"number": task.data})
        note(self.log, "try", self.name, what=task.data)
        tries = Path(self.log).read_text().splitlines()
        if sum(line.endswith(f"\t{task.data}") for line in tries) == 1:
            raise ValueError("not yet")
        return task


@dataclass
class DropsAll(Numbers):
    def process(self, task: Task[int]) -> None:
        return None


@dataclass
class Sums(Numbers):
    """Returns one task per batch: the sum."""

    def process_batch(self, tasks: Sequence[Task[int]]) -> Mixed[Task[int]]:
        return Mixed([Task(sum(task.data for task in tasks))])


@dataclass
class Fails(Numbers):
    """Fails on batches with a bad number; if `cause` is given, only while that file exists."""

    bad: frozenset[int] = frozenset()
    cause: str = ""

    def process_batch(self, tasks: Sequence[Task[int]]) -> list[Task[int]]:
        for task in tasks:
            if task.data in self.bad and (not self.cause or Path(self.cause).exists()):
                raise ValueError(f"number {task.data} is bad")
        return list(tasks)


@dataclass
class FailsFirst(Numbers):
    """Fails on each number the first `times` times, on any worker."""

    log: str
    times: int = 1

    def process(self, task: Task[int]) -> Task[int]:
        note(self.log, "try", self.name, what=task.data)
        tries = Path(self.log).read_text().splitlines()
        if sum(line.endswith(f"\t{task.data}") for line in tries) <= self.times:
            raise ValueError("not yet")
        return task


@dataclass
class Kills(Numbers):
    """Kills its worker on the number `poison`, while the file `cause` exists."""

    poison: int
    cause: str
    only_once: bool = False

    def process_batch(self, tasks: Sequence[Task[int]]) -> list[Task[int]]:
        if any(task.data == self.poison for task in tasks) and Path(self.cause).exists():
            if self.only_once:
                Path(self.cause).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return list(tasks)


@dataclass
class Exits(Numbers):
    """Tries to end its process: on 1 by sys.exit, on 2 by an interrupt; on 3 a fork exits."""

    def process(self, task: Task[int]) -> Task[int]:
        if task.data == 1:
            sys.exit(0)
        if task.data == 2:
            raise KeyboardInterrupt
        if task.data == 3:
            child = os.fork()
            if child == 0:
                sys.exit(7)
            _, status = os.waitpid(child, 0)
            assert os.waitstatus_to_exitcode(status) == 7
        return task


@dataclass
class Falters(Numbers):
    """Slowly yields 100 n, 100 n + 1, …; its worker dies once in the middle of one number."""

    bad: int
    cause: str
    count: int = 3
    seconds: float = 0.15

    def process(self, task: Task[int]) -> Iterator[Task[int]]:
        for position in range(self.count):
            time.sleep(self.seconds)
            yield Task(task.data * 100 + position)
            if position and task.data == self.bad and Path(self.cause).exists():
                Path(self.cause).unlink()
                os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Hangs(Numbers):
    bad: int

    def process(self, task: Task[int]) -> Task[int]:
        if task.data == self.bad:
            threading.Event().wait(60)
        return task


@dataclass
class NeverReady(Numbers):
    """Hangs in setup, as if it waited for a server that does not answer."""

    def setup(self, worker: WorkerInfo) -> None:
        threading.Event().wait(60)

    def process(self, task: Task[int]) -> Task[int]:
        return task


@dataclass
class Rests(Numbers):
    seconds: float = 0.02

    def process(self, task: Task[int]) -> Task[int]:
        time.sleep(self.seconds)
        return task


@dataclass
class Waits(Numbers):
    """Passes the number 0, and the others once the file `gate` exists."""

    gate: str
    patience_s: float = 60.0

    def process(self, task: Task[int]) -> Task[int]:
        deadline = time.monotonic() + self.patience_s
        while task.data and not Path(self.gate).exists():
            if time.monotonic() > deadline:
                raise TimeoutError("the first output did not arrive while the others were waiting")
            time.sleep(0.01)
        return task


@dataclass
class Lives(Numbers):
    """Logs its lifecycle events, and fails at the event `breaks_at`."""

    log: str
    breaks_at: str = ""

    def setup_on_node(self, node: NodeInfo) -> None:
        self._log("node", node.node_id)

    def setup(self, worker: WorkerInfo) -> None:
        self._place = f"{worker.node.node_id}/{worker.worker_id}"
        self._log("setup", self._place)

    def process(self, task: Task[int]) -> Task[int]:
        self._log("process", self._place, task.data)
        return task

    def teardown(self) -> None:
        self._log("teardown", self._place)

    def _log(self, kind: str, place: str, what: object = "") -> None:
        note(self.log, kind, self.name, place, what)
        if kind == self.breaks_at:
            raise RuntimeError(f"broken at {kind}")


@dataclass
class Writes(ProcessingStage[Task[int], FileGroup]):
    """Writes each number to a separate file, which is published with its source."""

    output_path: str
    writes = True
    _worker: WorkerInfo = field(default=WorkerInfo(), init=False, repr=False)

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: Task[int]) -> FileGroup:
        with open_draft(f"{self.output_path}/part-{task.task_id}.txt", self._worker) as draft:
            draft.file.write(f"{task.data}\n".encode())
            draft.items = 1
        output = FileGroup.of([draft.final])
        output.staged = (draft.staged_file(),)
        return output


@dataclass
class Anchored(Numbers):
    """Has an attribute that cannot be pickled."""

    lock: Any = field(default_factory=threading.Lock)

    def process(self, task: Task[int]) -> Task[int]:
        with self.lock:
            return task


@dataclass
class GivesAnchored(Numbers):
    """Returns, for one number, a task that cannot be pickled."""

    bad: int

    def process(self, task: Task[int]) -> Any:
        return Task(threading.Lock()) if task.data == self.bad else task
