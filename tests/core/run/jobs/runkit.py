"""Stages, executors and folders that the tests of runs share, in this process and in others."""

import hashlib
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import ClassVar

from curator_core import (
    Dropped,
    Empty,
    Executor,
    FileGroup,
    FilePart,
    Mixed,
    Pipeline,
    ProcessingStage,
    Rejected,
    Task,
    WorkerInfo,
)
from curator_core.execution.worker import StageWorker
from curator_core.io.atomic_write import open_draft
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import AnyTask
from curator_core.plan.plan import Plan
from curator_core.run.run import ActiveRun


@dataclass
class ListFiles(ProcessingStage[Empty, FileGroup]):
    """Every visible file of a folder is a source."""

    folder: str

    def process(self, task: Empty) -> Iterator[FileGroup]:
        for name in sorted(os.listdir(self.folder)):
            path = os.path.join(self.folder, name)
            facts = os.stat(path)
            yield FileGroup([FilePart(path, facts.st_size, str(facts.st_mtime_ns))])


class ReadWords(ProcessingStage[FileGroup, Task[str]]):
    """Every word of a file is a task."""

    def process(self, task: FileGroup) -> Iterator[Task[str]]:
        for path in task.paths:
            for word in Path(path).read_text().split():
                yield Task(word)


@dataclass
class Judge(ProcessingStage[Task[str], Task[str]]):
    """Drops `drop…`, fails at `bad…` until the file `mended` is there, and works on the others."""

    allow_changed_stages: str = ""
    work_s: float = 0.0

    def process(self, task: Task[str]) -> Task[str] | Dropped:
        if self.work_s:
            time.sleep(self.work_s)
        self.log_metrics({"letters": len(task.data)})
        if task.data.startswith("drop"):
            return Dropped("unwanted")
        if task.data.startswith("bad") and not os.path.exists(self.allow_changed_stages):
            raise ValueError(f"cannot judge {task.data}")
        return task.with_data(hashlib.sha1(task.data.encode()).hexdigest())


@dataclass
class Doubt(ProcessingStage[Task[str], Task[str]]):
    """Rejects half of all words, as records, until the file `mended` is there."""

    allow_changed_stages: str = ""

    def process(self, task: Task[str]) -> Task[str] | Rejected:
        if task.data < "8" and not os.path.exists(self.allow_changed_stages):
            return Rejected("not sure", row=0)
        return task


class Pairs(ProcessingStage[Task[str], Task[str]]):
    """Two tasks become one, whichever sources they come from."""

    batch_size = 2

    def process_batch(self, tasks: Sequence[Task[str]]) -> Mixed[Task[str]]:
        return Mixed([Task("+".join(task.data for task in tasks))])


@dataclass
class WriteWords(ProcessingStage[Task[str], FileGroup]):
    """One file for each task, under the task's id."""

    writes: ClassVar[bool] = True

    output_path: str
    mode: str = "error"
    ending: str = ""

    def __post_init__(self) -> None:
        self._worker = WorkerInfo()

    def setup(self, worker: WorkerInfo) -> None:
        self._worker = worker

    def process(self, task: Task[str]) -> FileGroup:
        final = os.path.join(self.output_path, f"part-{task.task_id}.txt")
        with open_draft(final, self._worker) as draft:
            draft.file.write(f"{task.data}{self.ending}\n".encode())
            draft.items = 1
        written = FileGroup([FilePart(final, draft.size)])
        written.staged = (draft.staged_file(),)
        return written


class Together(Executor):
    """Runs several sources in one call, so that stages can mix them."""

    def __init__(self, size: int = 3) -> None:
        self.size = size

    def execute(self, plan: Plan, run: ActiveRun) -> Iterator[AnyTask]:
        worker = StageWorker(plan, WorkerInfo("0", run_token=run.token), run.worker_stages)
        worker.setup_on_node()
        worker.setup()
        sources = run.sources()
        try:
            while batch := list(islice(sources, self.size)):
                call = worker.call(batch, run.blame(batch[0]))
                for output in call.outputs():
                    yield from run.add_output(output)
                yield from run.apply_report(call.report, batch)
        finally:
            worker.teardown()


def words_pipeline(
    folder: Path, *extra: AnyStage, mode: str = "error", work_s: float = 0.0
) -> Pipeline:
    """in/*.txt -> words -> judged -> out/part-*.txt."""
    stages: list[AnyStage] = [
        ListFiles(str(folder / "in")),
        ReadWords(),
        Judge(str(folder / "mended"), work_s),
        *extra,
        WriteWords(str(folder / "out"), mode),
    ]
    return Pipeline("words", stages=stages, max_failures=None)


def write_inputs(folder: Path, texts: Iterable[str]) -> None:
    """Write files 000.txt, 001.txt, … of a fixed age, so that ids do not change."""
    (folder / "in").mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        write_input(folder, f"{number:03}", text)


def write_input(folder: Path, name: str, text: str) -> None:
    path = folder / "in" / f"{name}.txt"
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))


def published(out: Path) -> dict[str, bytes]:
    """The files that a reader of the folder sees."""
    return {path.name: path.read_bytes() for path in _files(out) if path.name[0] != "."}


def hidden_leftovers(out: Path) -> list[str]:
    return [path.name for path in _files(out) if path.name[0] == "."]


def _files(out: Path) -> list[Path]:
    return [p for p in sorted(out.rglob("*")) if p.is_file() and ".curator" not in p.parts]
