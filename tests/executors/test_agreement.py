"""One pipeline on every executor that is installed: the same rows, ids, counts and quarantine."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from clusterkit import two_cpus
from curator_core import DocumentBatch, Executor, Pipeline, ProcessingStage, Task
from curator_core.local.executor import LocalExecutor
from curator_core.model.records import StageCounts
from curator_core.model.stages import AnyStage
from curator_core.model.tasks import Dropped, Mixed
from curator_core.plugins.registry import plugins
from curator_core.run.result import RunResult
from curator_core.testing.contract.trials import untimed

SHARDS = 12
PAGES = 6
Documents = ProcessingStage[DocumentBatch, DocumentBatch]


class ReadsShards(ProcessingStage[Task[Any], DocumentBatch]):
    """One shard becomes six batches of documents; one of the shards is damaged."""

    def process(self, task: Task[Any]) -> list[DocumentBatch]:
        if task.data == 5:
            raise ValueError(f"shard {task.data} is damaged")
        return [
            DocumentBatch.from_pylist(
                [
                    {"text": f"shard {task.data} page {page} line {line}", "line": line}
                    for line in range(4)
                ]
            )
            for page in range(PAGES)
        ]


class Regroups(Documents):
    """Six batches become two."""

    batch_size = PAGES

    def process_batch(self, tasks: Sequence[DocumentBatch]) -> Mixed[DocumentBatch]:
        half = PAGES // 2
        return Mixed(
            DocumentBatch.from_pylist([row for task in part for row in task.to_pylist()])
            for part in (tasks[:half], tasks[half:])
            if part
        )


class KeepsEvenLines(Documents):
    """Drops rows everywhere, and all of shard 3."""

    def process(self, task: DocumentBatch) -> list[DocumentBatch | Dropped]:
        rows = task.to_pylist()
        kept = [row["line"] % 2 == 0 and "shard 3 " not in row["text"] for row in rows]
        return task.keep(kept, "odd line")


@dataclass
class Stumbles(Documents):
    """Fails once on the documents of some shards, wherever they are tried."""

    folder: str

    def process(self, task: DocumentBatch) -> DocumentBatch:
        first = task.to_pylist()[0]["text"]
        mark = Path(self.folder, first.replace(" ", "-"))
        if "shard 1" in first and not mark.exists():
            mark.touch()
            raise ConnectionError("try again")
        return task


class Refuses(Documents):
    """Two batches are bad beyond repair."""

    def process(self, task: DocumentBatch) -> DocumentBatch:
        first = task.to_pylist()[0]["text"]
        if first in ("shard 7 page 0 line 0", "shard 9 page 3 line 0"):
            raise ValueError(f"{first!r} cannot be read")
        return task


class Shouts(Documents):
    def process(self, task: DocumentBatch) -> DocumentBatch:
        rows = [{**row, "text": row["text"].upper()} for row in task.to_pylist()]
        return DocumentBatch.from_pylist(rows)


def run_on(executor: Executor, folder: Path) -> dict[str, Any]:
    """Everything about a run that must not depend on who ran it."""
    folder.mkdir()
    stages: list[AnyStage] = [
        ReadsShards(),
        KeepsEvenLines(),
        Stumbles(str(folder)),
        Refuses(),
        Shouts(),
    ]
    return facts(run(stages, executor))


def run(stages: list[AnyStage], executor: Executor) -> RunResult:
    pipeline = Pipeline("agreement", stages=stages, max_failures=None)
    return pipeline.run(executor, tasks=[Task(n, "web") for n in range(SHARDS)])


def counted(counts: StageCounts) -> dict[str, Any]:
    """A stage's account, but for seconds and bytes: Arrow makes tables smaller as they travel."""
    return {name: n for name, n in untimed(counts).items() if not name.startswith("bytes")}


def facts(result: RunResult) -> dict[str, Any]:
    outputs = [task for task in result if isinstance(task, DocumentBatch)]
    return {
        "rows": sorted((row["text"], row["line"]) for t in outputs for row in t.to_pylist()),
        "ids": sorted((task.task_id, str(task.to_pylist())) for task in outputs),
        "counts": {name: counted(counts) for name, counts in result.stages.items()},
        "bytes": {name: (c.bytes_in, c.bytes_out) for name, c in result.stages.items()},
        "quarantine": sorted(
            (r.task_id, r.stage, r.reason, r.attempts, r.items, r.source, r.payload)
            for r in result.quarantined
        ),
        "sources": (result.sources_done, result.sources_skipped, result.status),
    }


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What comes out in this very process."""
    return run_on(LocalExecutor(workers=0), tmp_path_factory.mktemp("alone") / "run")


def test_the_pipeline_has_something_of_everything(alone: dict[str, Any]) -> None:
    counts = alone["counts"]

    assert (counts["reads_shards"]["tasks_in"], counts["reads_shards"]["tasks_failed"]) == (12, 1)
    assert counts["keeps_even_lines"]["reasons"] == {"odd line": 144}
    assert counts["keeps_even_lines"]["tasks_dropped"] == 6
    assert counts["stumbles"]["tasks_retried"] == 18  # of shards 1, 10 and 11
    assert counts["refuses"]["tasks_failed"] == 2
    assert len(alone["quarantine"]) == 3
    assert len(alone["ids"]) == 58


def registered(name: str, **options: Any) -> Callable[[], Executor]:
    def make() -> Executor:
        made: Executor = plugins().executors.load(name)(**options)
        return made

    return make


BATCH = {"config": {"execution_mode": "batch"}}
OTHERS = {
    "core.local": registered("core.local", workers=2),
    "streaming-batch": registered("streaming", **BATCH),
    "actor_pool-batch": registered("actor_pool", **BATCH),
    **{name: registered(name) for name in plugins().executors.places if name != "core.local"},
}


@pytest.fixture(params=OTHERS)
def other(request: pytest.FixtureRequest, one_ray: Any) -> Executor:
    name = request.param
    if name.removesuffix("-batch") not in plugins().executors.places:
        pytest.skip(f"{name} is not installed")
    if name != "core.local" and find_spec("ray"):
        one_ray.use(two_cpus, Path(__file__).parent)
    return OTHERS[name]()


def test_it_agrees(other: Executor, alone: dict[str, Any], tmp_path: Path) -> None:
    found = run_on(other, tmp_path / "run")

    for stage, counts in alone["counts"].items():
        assert found["counts"][stage] == counts, f"{other} has other counts of {stage}"
    for stage, sizes in alone["bytes"].items():
        assert found["bytes"][stage] == pytest.approx(sizes, rel=0.05)
    for what in ("rows", "ids", "quarantine", "sources"):
        assert found[what] == alone[what], f"{other} has other {what}"


def test_many_become_few_alike(other: Executor) -> None:
    """Who keeps what one source gave together, cuts the same batches of it."""
    stages: list[AnyStage] = [ReadsShards(), Regroups(), KeepsEvenLines(), Shouts()]
    alone = facts(run(list(stages), LocalExecutor(workers=0)))

    found = facts(run(list(stages), other))

    if type(other).__name__ in CUT_ELSEWHERE:
        taken = found["counts"]["regroups"]
        assert (taken["tasks_in"], taken["tasks_passed"]) == (66, 66)
        assert taken["tasks_out"] >= alone["counts"]["regroups"]["tasks_out"] == 22
    else:
        assert (found["ids"], found["counts"]) == (alone["ids"], alone["counts"])
    for what in ("rows", "quarantine", "sources"):
        assert found[what] == alone[what], f"{other} has other {what}"


CUT_ELSEWHERE = ("RayDataExecutor", "StreamingExecutor")
"""Where a batch ends with the block of Ray Data, or with what has come within its time."""
