"""On a private cluster nothing of Ray Data's own is started beside the workers."""

import sys
from dataclasses import replace
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Task
from curator_ray.cluster.connection import Connection
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray_data import insides, standing_in
from curator_ray_data.executor import RayDataExecutor
from curator_ray_data.standing_in import in_this_process

PRIVATE = Connection("private", "127.0.0.1:6379")
ONE = ClusterFacts((NodeFacts("one", cpus=2, object_store_gb=1.5),))


class Looks(ProcessingStage[Task[Any], Task[Any]]):
    """Tells which actors with a name there are."""

    def process(self, task: Task[Any]) -> Task[Any]:
        from ray.util import list_named_actors

        named = list_named_actors(all_namespaces=True)
        return task.with_data([one["name"] for one in named])


@pytest.mark.usefixtures("private_ray")
def test_a_run_without_pools_starts_no_actor_of_ray_data() -> None:
    run = Pipeline("looks", stages=[Looks()]).run(RayDataExecutor(), [Task(1), Task(2)])
    pools = {"ActorLocationTracker"}  # of an earlier run that had some, on the same cluster
    assert all(set(task.data) <= pools for task in run.tasks), [task.data for task in run.tasks]


@pytest.fixture
def stats() -> Any:
    return pytest.importorskip("ray.data._internal.stats")


def test_two_runs_at_once_leave_ray_data_as_it_was(stats: Any) -> None:
    before = stats.get_or_create_stats_actor
    first, second = in_this_process(PRIVATE, ONE, 1.0), in_this_process(PRIVATE, ONE, 1.0)
    first.__enter__()
    second.__enter__()
    assert stats.get_or_create_stats_actor().update_execution_metrics.remote(1, x=2) is None
    first.__exit__(None, None, None)
    assert stats.get_or_create_stats_actor is not before
    second.__exit__(None, None, None)
    assert stats.get_or_create_stats_actor is before


@pytest.mark.parametrize(
    "connection", [replace(PRIVATE, kind="joined"), replace(PRIVATE, has_dashboard=True)]
)
def test_where_others_look_at_the_cluster_figures_are_kept(
    connection: Connection, stats: Any
) -> None:
    before = stats.get_or_create_stats_actor
    with in_this_process(connection, ONE, 1.0):
        assert stats.get_or_create_stats_actor is before


@pytest.mark.parametrize("where", insides.RESERVING)
def test_all_of_the_cluster_is_reserved_for_the_run(where: str) -> None:
    autoscaler = pytest.importorskip(where)
    with in_this_process(PRIVATE, ONE, 1.0):
        reserved = autoscaler.DefaultAutoscalingCoordinator(requester_id="somebody")
        reserved.request_resources(resources=[{"CPU": 99}], expire_after_s=1)
        told = reserved.get_reserved_resources()["one"]
    assert (told["CPU"], told["object_store_memory"]) == (2, 1.5e9)


def test_at_first_there_are_as_many_workers_as_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    reserved = standing_in.Reservations({"one": {"CPU": 2, "GPU": 1}}, at_first=0.25)
    assert reserved.get_reserved_resources() == {"one": {"CPU": 0.5, "GPU": 1}}
    monkeypatch.setattr(standing_in, "_FIRST_S", 0.0)
    assert reserved.get_reserved_resources() == {"one": {"CPU": 2, "GPU": 1}}


def test_a_ray_data_that_looks_other_than_it_did_is_left_alone(
    stats: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where in insides.RESERVING:
        monkeypatch.setitem(sys.modules, where, None)
    monkeypatch.delattr(stats, "get_or_create_stats_actor")
    with in_this_process(PRIVATE, ONE, 1.0):
        assert not hasattr(stats, "get_or_create_stats_actor")
