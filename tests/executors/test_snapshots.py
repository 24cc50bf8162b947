"""Snapshots of every executor on Ray: workers, queues, and the time that stages took."""

import time
from pathlib import Path
from typing import Any

import pytest
from clusterkit import two_cpus
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Pipeline, Task, processing_stage
from curator_core.model.snapshot import RunSnapshot
from curator_ray_data.executor import RayDataExecutor
from curator_streaming.executor import StreamingExecutor


@processing_stage(name="doze")
def doze(task: Task[float]) -> Task[float]:
    time.sleep(task.data)
    return task


@processing_stage(name="again")
def again(task: Task[float]) -> Task[float]:
    return task


@pytest.fixture(autouse=True)
def private_ray(one_ray: Any) -> None:
    one_ray.use(two_cpus, Path(__file__).parent)


@pytest.mark.parametrize("executor", [StreamingExecutor, RayActorPoolExecutor, RayDataExecutor])
def test_every_executor_reports_the_same_metrics(executor: Any) -> None:
    seen: list[RunSnapshot] = []
    with Pipeline("naps", stages=[doze, again]).stream(executor(), [Task(0.4)] * 12) as stream:
        stream.run.events.listen(lambda event: seen.append(event["snapshot"]), "snapshot")
        assert len(list(stream)) == 12
    last = seen[-1]
    assert (last.status, last.done, last.left) == ("done", 12, 0)
    first, second = last.stages
    assert (first.usage.tasks, second.usage.tasks) == (12, 12)
    assert first.usage.seconds >= 12 * 0.4
    assert 0.3 <= first.usage.quantile(0.5) < 2
    assert first.usage.cpu_s < first.usage.seconds
    assert first.usage.setups >= 1
    assert first.usage.rss_bytes > 1e6
    assert any(snapshot.executor_state.workers.get("busy") for snapshot in seen)
    assert any(snapshot.executor_state.at_work for snapshot in seen)
    assert any(snapshot.executor_state.store_limit_bytes for snapshot in seen)
    assert any(snapshot.executor_state.nodes for snapshot in seen)
