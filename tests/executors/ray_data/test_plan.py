"""Which stages run together, in tasks or actors, and what they get of a cluster."""

from dataclasses import replace
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.plan.plan import Plan
from curator_core.testing.contract.stages import Adds, Lives
from curator_ray.cluster.autoscaler import Autoscaler
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray_data.plan import (
    Operator,
    Share,
    find_hint_problems,
    find_problems,
    is_concurrency,
    operators_of,
    shares_of,
    unused_gpu_node_cpus,
)


class Splits(Adds):
    fans_out = True


TWO_CPUS = ClusterFacts((NodeFacts("n", cpus=2, memory_gb=8),))
GPUS = ClusterFacts((NodeFacts("n", cpus=4, gpus=2, memory_gb=8, gpu_memory_gb=40),))


def plan_of(*stages: ProcessingStage[Any, Any]) -> Plan:
    named = [stage.with_(name=f"s{number}") for number, stage in enumerate(stages)]
    return Pipeline("p", stages=named).build(tasks=[Task(1)])


def names(*stages: ProcessingStage[Any, Any]) -> list[str]:
    return [operator.name for operator in operators_of(plan_of(*stages).stages)]


def one(stage: ProcessingStage[Any, Any]) -> Operator:
    [operator] = operators_of(plan_of(stage).stages)
    return operator


class TestGrouping:
    def test_neighbours_with_equal_resources_are_one_operator(self) -> None:
        assert names(Adds(1), Adds(2), Lives("log")) == ["s0->s1->s2"]

    def test_a_fan_out_ends_a_group(self) -> None:
        assert names(Adds(1), Splits(1), Adds(1), Adds(2)) == ["s0->s1", "s2->s3"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"resources": Resources(cpus=0.5)},
            {"resources": Resources(gpus=1)},
            {"num_workers": 2},
            {"runtime_env": {"env_vars": {"A": "1"}}},
            {"hints": {"ray_data": {"concurrency": 2}}},
        ],
        ids=["cpus", "gpus", "num_workers", "runtime_env", "hint"],
    )
    def test_special_demands_make_an_operator(self, changes: dict[str, Any]) -> None:
        assert names(Adds(1), Adds(2).with_(**changes), Adds(3)) == ["s0", "s1", "s2"]

    def test_equal_gpu_stages_are_two_operators(self) -> None:
        gpu = Adds(1).with_(resources=Resources(gpus=1))

        assert names(gpu, gpu) == ["s0", "s1"]


class TestWorkers:
    def test_stages_without_state_run_in_tasks(self) -> None:
        assert not one(Adds(1)).needs_actors

    def test_setup_gpus_and_fixed_numbers_need_actors(self) -> None:
        assert one(Lives("log")).needs_actors
        assert one(Adds(1).with_(resources=Resources(gpus=1))).needs_actors
        assert one(Adds(1).with_(num_workers=3)).needs_actors

    def test_minimum_and_maximum(self) -> None:
        assert one(Adds(1)).concurrency is None
        assert one(Adds(1).with_(num_workers=3)).concurrency == (3, 3)
        hinted = Adds(1).with_(hints={"ray_data": {"concurrency": [1, 4]}})
        assert one(hinted).concurrency == (1, 4)

    def test_batch_size_is_set_only_if_a_stage_needs_it(self) -> None:
        assert one(Adds(1)).batch_size is None
        assert one(Adds(1).with_(batch_size=16)).batch_size == 16
        assert one(Adds(1).with_(resources=Resources(gpus=1))).batch_size == 1


class TestHints:
    def test_an_unknown_hint_gets_a_suggestion(self) -> None:
        stage = Adds(1).with_(hints={"ray_data": {"concurency": 2}})
        plan = Pipeline("p", stages=[stage]).build(tasks=[Task(1)])

        [problem] = find_hint_problems(plan)
        assert "no ray_data hint 'concurency' (did you mean concurrency?)" in problem

    def test_a_wrong_value_is_named(self) -> None:
        stage = Adds(1).with_(hints={"ray_data": {"concurrency": [4, 1]}})
        plan = Pipeline("p", stages=[stage]).build(tasks=[Task(1)])

        [problem] = find_hint_problems(plan)
        assert "is [4, 1], but must be a number of workers" in problem

    @pytest.mark.parametrize("value", [0, True, "2", [1], [0, 1], 1.5, None])
    def test_values_that_are_no_concurrency(self, value: object) -> None:
        assert not is_concurrency(value)


def shares_in(cluster: ClusterFacts, *stages: ProcessingStage[Any, Any]) -> list[Share]:
    return shares_of(operators_of(plan_of(*stages).stages), cluster)


class TestShares:
    def test_resources_that_fit_are_passed_on(self) -> None:
        half = Adds(1).with_(resources=Resources(cpus=0.5, memory_gb=1))

        [share] = shares_in(TWO_CPUS, half)

        assert share.options == {"num_cpus": 0.5, "num_gpus": 0, "memory": 10**9}

    def test_actors_leave_room_for_tasks(self) -> None:
        """Otherwise tasks would wait forever for a CPU that an actor holds."""
        lives = Lives("log").with_(num_workers=3)

        actors, tasks = shares_in(TWO_CPUS, lives, Adds(1))

        assert (actors.min_workers, actors.max_workers) == (3, 3)
        taken = 3 * actors.options["num_cpus"] + tasks.options["num_cpus"]
        assert 1.9 < taken <= 2

    def test_actors_stay_within_the_limit_of_the_job(self) -> None:
        """Ray Data starts the minimum of each pool whatever the limit is."""
        lives = operators_of(plan_of(Lives("log").with_(num_workers=3)).stages)

        [limited] = shares_of(lives, GPUS, cpu_limit=1.5)
        [unlimited] = shares_of(lives, GPUS)

        assert (limited.min_workers, limited.options["num_cpus"]) == (3, 0.5)
        assert unlimited.options["num_cpus"] == 1

    def test_the_maximum_is_what_the_nodes_have_room_for(self) -> None:
        [share] = shares_in(TWO_CPUS, Lives("log").with_(resources=Resources(cpus=0.5)))

        assert (share.min_workers, share.max_workers) == (1, 4)

    def test_given_numbers_are_kept(self) -> None:
        hinted = Lives("log").with_(hints={"ray_data": {"concurrency": [2, 3]}})

        [share] = shares_in(TWO_CPUS, hinted)

        assert (share.min_workers, share.max_workers) == (2, 3)

    def test_gpu_memory_becomes_a_share_of_a_gpu(self) -> None:
        small = Adds(1).with_(resources=Resources(gpu_memory_gb=10))

        [share] = shares_in(GPUS, small)

        assert share.options["num_gpus"] == 0.25
        assert share.max_workers == 4  # by its CPUs

    def test_all_fit_whichever_is_placed_first(self) -> None:
        """Two of .8 on a node each would leave no room for a third of .4."""
        nodes = ClusterFacts(tuple(NodeFacts(name, cpus=1, memory_gb=8) for name in "ab"))
        two = Lives("log").with_(resources=Resources(cpus=1), num_workers=2)
        half = Lives("log").with_(resources=Resources(cpus=0.5))

        each, third = [share.size.cpus for share in shares_in(nodes, two, half)]

        assert each + third <= 1
        assert 0.25 < third < each

    def test_gpu_nodes_have_no_room_for_other_stages(self) -> None:
        mixed = ClusterFacts((*TWO_CPUS.nodes, replace(GPUS.nodes[0], node_id="gpus")))
        gpu = Adds(1).with_(resources=Resources(cpus=1, gpus=1))
        operators = operators_of(plan_of(Lives("log").with_(num_workers=3), gpu).stages)

        shared = shares_of(operators, mixed)

        assert [share.size.cpus for share in shared] == [0.66, 1]
        assert [share.max_workers for share in shared] == [3, 2]
        assert (
            unused_gpu_node_cpus(operators, shared, mixed) == 2
        )  # two of the four are for the GPU workers
        assert unused_gpu_node_cpus(operators, shared, GPUS) == 0


class TestPoolSizesAtTheStart:
    def start_sizes(self, cluster: ClusterFacts, *stages: Any) -> list[int]:
        return [share.start_workers for share in shares_in(cluster, *stages)]

    def test_a_single_pool_starts_at_full_size(self) -> None:
        gpu = Adds(1).with_(resources=Resources(cpus=1, gpus=1))
        half = Adds(1).with_(resources=Resources(cpus=0.5, gpus=0.5))

        assert self.start_sizes(GPUS, gpu) == [2]
        assert self.start_sizes(GPUS, half) == [4]
        assert self.start_sizes(TWO_CPUS, Lives("log")) == [2]

    def test_a_given_range_starts_at_its_maximum(self) -> None:
        ranged = Lives("log").with_(hints={"ray_data": {"concurrency": [1, 3]}})

        assert self.start_sizes(GPUS, ranged) == [3]

    def test_pools_share_gpus(self) -> None:
        gpu = Adds(1).with_(resources=Resources(cpus=0.5, gpus=0.5))

        assert self.start_sizes(GPUS, gpu, gpu) == [2, 2]

    def test_pools_share_custom_resources(self) -> None:
        nodes = ClusterFacts((NodeFacts("n", cpus=16, memory_gb=8, custom={"disk": 4}),))
        disk = Lives("log").with_(resources=Resources(cpus=1, custom={"disk": 1}))

        assert self.start_sizes(nodes, disk, disk) == [2, 2]

    def test_room_for_a_task_is_kept(self) -> None:
        nodes = ClusterFacts((NodeFacts("n", cpus=8, memory_gb=8),))
        light, heavy = Resources(cpus=1), Resources(cpus=3)

        starts = self.start_sizes(
            nodes, Lives("log").with_(resources=light), Adds(1).with_(resources=heavy)
        )

        assert starts[0] == 5

    def test_no_cpus_of_gpu_nodes_are_counted_for_others(self) -> None:
        mixed = ClusterFacts((*TWO_CPUS.nodes, replace(GPUS.nodes[0], node_id="gpus")))
        light = Resources(cpus=0.5)

        starts = self.start_sizes(
            mixed, Lives("log").with_(resources=light), Adds(1).with_(resources=Resources(cpus=1))
        )

        assert starts[0] == 2  # of the two CPUs, one is left to the tasks


class TestRefusals:
    def test_demands_that_no_node_meets(self) -> None:
        [problem] = find_problems(plan_of(Adds(1).with_(resources=Resources(cpus=8))), TWO_CPUS)

        assert "stage 1 's0' asks for 8 CPU on one node, but the nodes have at most 2" in problem

    def test_gpus_that_the_stages_exceed_together(self) -> None:
        both = Adds(1).with_(resources=Resources(gpus=2, cpus=1))

        [problem] = find_problems(plan_of(both, both), GPUS)

        assert problem.startswith("stages 's0', 's1' ask for 4 GPU together, but there are 2")
        assert "use the executor 'streaming', or 'actor_pool'" in problem

    def test_gpus_that_suffice_for_all_stages(self) -> None:
        half = Adds(1).with_(resources=Resources(gpus=0.5, cpus=1))

        assert list(find_problems(plan_of(half, half), GPUS)) == []

    def test_what_an_autoscaler_may_bring_is_accepted(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("curator_ray.resources", "curator_ray_data.plan"):
            monkeypatch.setattr(f"{module}.find_autoscaler", Autoscaler)
        share, whole = Resources(gpu_memory_gb=60), Resources(gpus=2)
        plan = plan_of(Adds(1).with_(resources=share), Adds(1).with_(resources=whole))

        assert list(find_problems(plan, TWO_CPUS)) == []
        first, second = shares_of(operators_of(plan.stages), TWO_CPUS)
        assert (first.size.gpus, second.size.gpus) == (1, 2)

    @pytest.mark.parametrize("second", [80.0, None])
    def test_gpu_memory_on_gpus_of_several_sizes(self, second: float | None) -> None:
        other = NodeFacts("m", cpus=4, gpus=2, memory_gb=8, gpu_memory_gb=second)
        small = Adds(1).with_(resources=Resources(gpu_memory_gb=10))

        [problem] = find_problems(plan_of(small), ClusterFacts((*GPUS.nodes, other)))

        assert "GPUS of different sizes".lower() in problem.lower()
        assert "use the executor 'streaming'" in problem
