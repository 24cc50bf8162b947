"""Plans refuse features that an executor does not support, and name one that does."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from curator_core import (
    Executor,
    JsonlReader,
    JsonlWriter,
    LocalExecutor,
    Pipeline,
    ProcessingStage,
    Resources,
    Task,
)
from curator_core.errors import PipelineError
from curator_core.plan.plan import Plan
from curator_core.plan.validation import unsupported_features
from curator_core.run.run import ActiveRun


class Plain(Executor):
    """Claims nothing."""

    def execute(self, plan: Plan, run: ActiveRun) -> Iterator[Task[Any]]:
        raise AssertionError("it must not come to that")


class Patient(Plain):
    capabilities: ClassVar[frozenset[str]] = frozenset({"timeouts"})


class Passes(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


def pipeline(**options: Any) -> Pipeline:
    return Pipeline("p", stages=[Passes(), Passes().with_(name="second", **options)])


def offering(monkeypatch: pytest.MonkeyPatch, **executors: type[Executor]) -> None:
    known = SimpleNamespace(places=list(executors), load=lambda name: executors[name])
    monkeypatch.setattr(
        "curator_core.plugins.registry.plugins", lambda: SimpleNamespace(executors=known)
    )


def test_recycling_that_the_executor_does_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    offering(monkeypatch, plain=Plain)
    with pytest.raises(PipelineError, match="'second' asks for the recycling of its workers"):
        pipeline(worker_max_tasks=5).run(Plain(), [Task(1)])
    assert pipeline(worker_max_tasks=0).build(Plain(), [Task(1)])
    with pytest.raises(PipelineError, match="worker_max_rss_gb is -1, but must be 0"):
        pipeline(worker_max_rss_gb=-1).build(Plain(), [Task(1)])


@pytest.mark.parametrize(
    "changes",
    [
        {"workers_per_node": 2},
        {"max_workers_per_node": 2},
        {"resources": Resources(labels={"zone": "a"})},
    ],
)
def test_placement_that_the_executor_does_not_do(
    monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]
) -> None:
    offering(monkeypatch, plain=Plain)
    with pytest.raises(PipelineError, match="'second' asks for workers per node"):
        pipeline(**changes).run(Plain(), [Task(1)])


def test_workers_per_node_that_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    offering(monkeypatch, plain=Plain)
    with pytest.raises(PipelineError, match="workers_per_node is 0, but must be 1 or more"):
        pipeline(workers_per_node=0).build(Plain(), [Task(1)])
    with pytest.raises(PipelineError, match="num_workers and workers_per_node are both set"):
        pipeline(workers_per_node=2, num_workers=2).build(Plain(), [Task(1)])


def test_a_timeout_that_the_executor_does_not_support(monkeypatch: pytest.MonkeyPatch) -> None:
    offering(monkeypatch, plain=Plain, patient=Patient, local=LocalExecutor)
    with pytest.raises(PipelineError) as error:
        pipeline(timeout_s=5.0).run(Plain(), [Task(1)])
    assert str(error.value) == (
        "stage 2 'second' asks for a timeout_s, which Plain does not support; "
        "use the executor 'patient' or 'local'"
    )
    assert pipeline(timeout_s=5.0).build(Patient(), [Task(1)])


def test_a_runtime_env_that_the_executor_does_not_support(monkeypatch: pytest.MonkeyPatch) -> None:
    offering(monkeypatch, patient=Patient)
    with pytest.raises(PipelineError, match="'second' asks for a runtime_env of its own, which "
                       "LocalExecutor does not support; install an executor that can"):  # fmt: skip
        pipeline(runtime_env={"pip": ["x"]}).run(LocalExecutor(), [Task(1)])


def test_an_executor_that_cannot_be_imported_is_not_suggested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load(name: str) -> type[Executor]:
        if name == "broken":
            raise ImportError("no Ray here")
        return Patient

    known = SimpleNamespace(places=["broken", "patient"], load=load)
    monkeypatch.setattr(
        "curator_core.plugins.registry.plugins", lambda: SimpleNamespace(executors=known)
    )
    (problem,) = unsupported_features(Plain(), pipeline(timeout_s=1.0).build())
    assert problem.endswith("use the executor 'patient'")


def test_stages_without_demands_run_anywhere() -> None:
    assert list(unsupported_features(Plain(), pipeline().build())) == []


class Elsewhere(Plain):
    capabilities: ClassVar[frozenset[str]] = frozenset({"isolation"})


def test_in_memory_files_need_this_process() -> None:
    """Worker processes would read nothing, and what they wrote would be lost."""
    stages = [
        JsonlReader("simplecache::memory://some/in"),
        JsonlWriter("memory://some/out"),
    ]
    here = Pipeline("p", stages=stages, allow_empty=True)
    with pytest.raises(PipelineError) as error:
        here.build(Elsewhere())
    lines = str(error.value).splitlines()
    why = (
        ", but each worker process has its own memory and cannot see it; use a "
        "folder or an object store, or LocalExecutor(workers=0)"
    )
    assert lines == [
        f"stage 1 'jsonl_reader_files': file_paths is simplecache::memory://some/in{why}",
        f"stage 3 'jsonl_writer': path is memory://some/out{why}",
    ]
    for executor in (Plain(), LocalExecutor(workers=0)):
        assert here.build(executor)
    with pytest.raises(PipelineError, match=r"path is memory://some/out, but each worker process"):
        here.build(LocalExecutor(workers=1))
