"""Which nodes hold how many actors, and what is kept free."""

import pytest
from curator_actor_pool.placement import (
    ActorKind,
    choose_nodes,
    max_actors_with_others,
    subtract_reserved,
)
from curator_core.model.policies import ErrorPolicy
from curator_core.model.resources import Resources
from curator_core.plan.plan import PlannedStage
from curator_core.testing.contract.stages import Adds
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.errors import ClusterError


def node(name: str, cpus: float = 4, gpus: float = 0, **more: float) -> NodeFacts:
    return NodeFacts(name, cpus=cpus, gpus=gpus, memory_gb=64, custom=more)


def stage(cpus: float = 1, num_workers: int | None = None, **wanted: float) -> PlannedStage:
    made = Adds(1).with_(resources=Resources(cpus=cpus, **wanted), num_workers=num_workers)  # type: ignore[arg-type]
    return PlannedStage.of(0, made, ErrorPolicy())


def test_idle_actors_of_other_stages_keep_their_gpus() -> None:
    gpus = Resources(cpus=4, gpus=1)
    here = node("gpus", 4, 4)

    assert max_actors_with_others(stage(1), here, []) == 4
    assert max_actors_with_others(stage(1), here, [gpus] * 3) == 4  # idle actors need no CPUs
    assert max_actors_with_others(stage(1, gpus=1), here, [gpus] * 3) == 1
    assert max_actors_with_others(stage(0.5, gpus=0.5), here, [Resources(gpus=0.5)]) == 6
    assert max_actors_with_others(stage(1, memory_gb=20), here, [Resources(memory_gb=30)]) == 1
    assert max_actors_with_others(stage(0), here, []) == 4


def test_a_given_number_is_not_limited_by_cpus() -> None:
    assert max_actors_with_others(stage(1, num_workers=9), node("a", 2), []) == 9
    assert max_actors_with_others(stage(1, num_workers=9, gpus=1), node("a", 2, 3), []) == 3


@pytest.mark.parametrize(
    ("count", "chosen"),
    [(1, ["b"]), (3, ["b", "a", "b"]), (9, ["b", "a", "b", "a", "b"])],
)
def test_actors_are_spread_over_nodes(count: int, chosen: list[str]) -> None:
    assert choose_nodes(count, {"a": 2, "b": 3, "full": 0}, {}) == chosen


def test_nodes_with_the_fewest_come_first() -> None:
    assert choose_nodes(2, {"a": 5, "b": 1}, {"a": 1}) == ["b", "a"]


def test_reserved_parts_are_taken_from_the_largest_nodes() -> None:
    left = subtract_reserved([node("a", 2), node("b", 8, 2), node("c", 4, 1)], 9, 1)

    assert [(n.node_id, n.cpus, n.gpus) for n in left] == [("a", 2, 0), ("b", 0, 1), ("c", 3, 1)]


@pytest.mark.parametrize(
    ("cpus", "gpus", "message"),
    [
        (2, 0, "reserved_cpus is 2, but the cluster has 2 CPUs: nothing would be left"),
        (0, 3, "reserved_gpus is 3, but the cluster has 2 GPUs; reserve no more than that"),
    ],
)
def test_reserving_too_much_is_refused(cpus: float, gpus: float, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        subtract_reserved([node("a", 2, 2)], cpus, gpus)


def test_all_gpus_may_be_reserved_for_others() -> None:
    assert [(n.cpus, n.gpus) for n in subtract_reserved([node("a", 2, 2)], 0, 2)] == [(2, 0)]


def test_stages_of_equal_size_share_actors_unless_they_are_special() -> None:
    plain, other = stage(1), stage(2)

    assert ActorKind.of(plain) == ActorKind.of(stage(1)) != ActorKind.of(other)
    assert ActorKind.of(stage(1, gpus=1)).stage == ActorKind.of(stage(1, num_workers=2)).stage == 0
