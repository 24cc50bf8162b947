"""Node peaks: the most that each node used, in the result, and a warning for each full GPU."""

import json

import pytest
from curator_core import LocalExecutor, Pipeline, Task, processing_stage
from curator_core.model.node_usage import GpuUsage, NodeUsage
from curator_core.model.snapshot import ExecutorState, RunSnapshot
from curator_core.run.node_peaks import NodePeaks
from curator_core.run.result import RunResult
from curator_core.run.run import ActiveRun

GB = 10**9


@processing_stage(name="same")
def same(task: Task[int]) -> Task[int]:
    return task


def node(*used_gb: int) -> NodeUsage:
    return NodeUsage(1, 2, tuple(GpuUsage(used * GB, 80 * GB) for used in used_gb))


def test_nodes_of_the_executor_replace_the_machine_of_the_driver() -> None:
    result = RunResult()
    peaks = NodePeaks(result)
    peaks.add_driver({"laptop": node()})
    assert result.nodes == {"laptop": node()}
    peaks.add({"10.0.0.1": node(8)})
    peaks.add_driver({"laptop": node()})
    assert result.nodes == {"10.0.0.1": node(8)}


def test_a_full_gpu_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    result = RunResult()
    peaks = NodePeaks(result)
    for used in (10, 72, 73, 79, 20, 79):
        peaks.add({"a": node(used, 72), "b": node(8)})
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    [note] = result.notes
    assert "GPU 0 of node a has 91.2 % of its 80.0 GB" in note
    peaks.add({"b": node(76)})
    warned = [text.partition(" has")[0] for text in result.notes]
    assert warned == [
        "GPU 0 of node a",
        "GPU 0 of node b",
    ]
    assert result.nodes == {"a": node(79, 72), "b": node(76)}


def test_a_local_run_knows_its_machine() -> None:
    result = Pipeline("p", stages=[same]).run(LocalExecutor(workers=0), tasks=[Task(1)])
    [usage] = result.nodes.values()
    assert usage.total_bytes > usage.used_bytes > 0
    assert list(result.to_json()["nodes"].values()) == [usage.to_json()]


def test_snapshots_have_the_nodes_of_the_executor() -> None:
    stream = Pipeline("p", stages=[same]).stream(LocalExecutor(workers=0), [Task(1)])
    run = stream.run
    assert isinstance(run, ActiveRun)
    run.executor_state = lambda: ExecutorState(nodes={"far": node(3)})
    snapshot = run.snapshot()
    assert snapshot.nodes == {"far": node(3)}
    read = RunSnapshot.from_json(json.loads(json.dumps(snapshot.to_json())))
    assert read.nodes == snapshot.nodes
    assert run.snapshot("done").nodes == snapshot.nodes
    stream.close()
