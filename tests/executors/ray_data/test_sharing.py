"""What operators get of a cluster, and what they cannot hold together."""

from dataclasses import replace
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.plan.plan import Plan
from curator_core.testing.contract.stages import Adds, Lives
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray_data.operators import operators_of
from curator_ray_data.sharing import Share, idle_cpus, refused, shares

TWO_CPUS = ClusterFacts((NodeFacts("n", cpus=2, memory_gb=8),))
GPUS = ClusterFacts((NodeFacts("n", cpus=4, gpus=2, memory_gb=8, gpu_memory_gb=40),))


def plan_of(*stages: ProcessingStage[Any, Any]) -> Plan:
    named = [stage.with_(name=f"s{number}") for number, stage in enumerate(stages)]
    return Pipeline("p", stages=named).build(tasks=[Task(1)])


def shares_of(cluster: ClusterFacts, *stages: ProcessingStage[Any, Any]) -> list[Share]:
    return shares(operators_of(plan_of(*stages).stages), cluster)


class TestShares:
    def test_what_fits_is_told_as_it_is(self) -> None:
        half = Adds(1).with_(resources=Resources(cpus=0.5, memory_gb=1))

        [share] = shares_of(TWO_CPUS, half)

        assert share.options == {"num_cpus": 0.5, "num_gpus": 0, "memory": 10**9}

    def test_workers_that_stay_leave_room_for_the_others(self) -> None:
        """Else tasks would wait for ever for a CPU that an actor holds."""
        lives = Lives("log").with_(num_workers=3)

        staying, passing = shares_of(TWO_CPUS, lives, Adds(1))

        assert (staying.fewest, staying.most) == (3, 3)
        taken = 3 * staying.options["num_cpus"] + passing.options["num_cpus"]
        assert 1.9 < taken <= 2

    def test_they_keep_within_what_the_job_may_take(self) -> None:
        """Ray Data starts the fewest actors of each pool whatever the limit is."""
        lives = operators_of(plan_of(Lives("log").with_(num_workers=3)).stages)

        [limited] = shares(lives, GPUS, most_cpus=1.5)
        [unlimited] = shares(lives, GPUS)

        assert (limited.fewest, limited.options["num_cpus"]) == (3, 0.5)
        assert unlimited.options["num_cpus"] == 1

    def test_pools_grow_as_far_as_there_is_room(self) -> None:
        [share] = shares_of(TWO_CPUS, Lives("log").with_(resources=Resources(cpus=0.5)))

        assert (share.fewest, share.most) == (1, 4)

    def test_a_number_is_kept(self) -> None:
        hinted = Lives("log").with_(hints={"ray_data": {"concurrency": [2, 3]}})

        [share] = shares_of(TWO_CPUS, hinted)

        assert (share.fewest, share.most) == (2, 3)

    def test_memory_of_a_device_becomes_a_share_of_it(self) -> None:
        small = Adds(1).with_(resources=Resources(gpu_memory_gb=10))

        [share] = shares_of(GPUS, small)

        assert share.options["num_gpus"] == 0.25
        assert share.most == 4  # by its CPUs

    def test_each_holds_what_it_needs_whoever_is_placed_first(self) -> None:
        """Two of .8 on a node each would leave no room for a third of .4."""
        nodes = ClusterFacts(tuple(NodeFacts(name, cpus=1, memory_gb=8) for name in "ab"))
        two = Lives("log").with_(resources=Resources(cpus=1), num_workers=2)
        half = Lives("log").with_(resources=Resources(cpus=0.5))

        each, third = [share.size.cpus for share in shares_of(nodes, two, half)]

        assert each + third <= 1
        assert 0.25 < third < each

    def test_on_nodes_with_gpus_there_is_no_room_for_others(self) -> None:
        mixed = ClusterFacts((*TWO_CPUS.nodes, replace(GPUS.nodes[0], node_id="gpus")))
        gpu = Adds(1).with_(resources=Resources(cpus=1, gpus=1))
        operators = operators_of(plan_of(Lives("log").with_(num_workers=3), gpu).stages)

        shared = shares(operators, mixed)

        assert [share.size.cpus for share in shared] == [0.66, 1]
        assert [share.most for share in shared] == [3, 2]
        assert idle_cpus(operators, shared, mixed) == 2  # two of the four are for the devices
        assert idle_cpus(operators, shared, GPUS) == 0


class TestRefusals:
    def test_what_no_node_has(self) -> None:
        [problem] = refused(plan_of(Adds(1).with_(resources=Resources(cpus=8))), TWO_CPUS)

        assert "stage 1 's0' asks for 8 CPU on one node, but the nodes have at most 2" in problem

    def test_devices_that_all_stages_would_hold_at_once(self) -> None:
        both = Adds(1).with_(resources=Resources(gpus=2, cpus=1))

        [problem] = refused(plan_of(both, both), GPUS)

        assert problem.startswith("stages 's0', 's1' ask for 4 GPU together, but there are 2")
        assert "use the executor 'streaming', or 'actor_pool'" in problem

    def test_devices_that_fit_together(self) -> None:
        half = Adds(1).with_(resources=Resources(gpus=0.5, cpus=1))

        assert list(refused(plan_of(half, half), GPUS)) == []

    @pytest.mark.parametrize("second", [80.0, None])
    def test_memory_where_devices_differ(self, second: float | None) -> None:
        other = NodeFacts("m", cpus=4, gpus=2, memory_gb=8, gpu_memory_gb=second)
        small = Adds(1).with_(resources=Resources(gpu_memory_gb=10))

        [problem] = refused(plan_of(small), ClusterFacts((*GPUS.nodes, other)))

        assert "GPUS of different sizes".lower() in problem.lower()
        assert "use the executor 'streaming'" in problem
