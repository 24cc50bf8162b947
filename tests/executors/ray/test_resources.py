"""What stages need in Ray's terms, and which nodes have it."""

import re
from typing import Any

import pytest
from curator_core import Pipeline, ProcessingStage, Resources, Task
from curator_core.plan.plan import Plan
from curator_ray import resources
from curator_ray.cluster.autoscaler import Autoscaler, node_types
from curator_ray.cluster.nodes import ClusterFacts, NodeFacts
from curator_ray.resources import (
    actor_options,
    eligible_nodes,
    excluded_nodes,
    gpu_share,
    gpus_on,
    max_workers_on,
    unmet_demands,
)
from hypothesis import given
from hypothesis import strategies as st

CPU_NODE = NodeFacts("c" * 56, "10.0.0.1", cpus=16, memory_gb=64)
GPU_NODE = NodeFacts(
    "d" * 56, "10.0.0.2", cpus=8, gpus=4, memory_gb=32, custom={"disk": 2}, gpu_memory_gb=40
)
BIG_GPU_NODE = NodeFacts("e" * 56, "10.0.0.3", cpus=8, gpus=2, memory_gb=32, gpu_memory_gb=80)
CLUSTER = ClusterFacts((CPU_NODE, GPU_NODE))

A100_NODE = NodeFacts("a" * 56, cpus=8, gpus=4, accelerator="A100", labels={"zone": "a"})
L4_NODE = NodeFacts("b" * 56, cpus=8, gpus=4, accelerator="L4", labels={"zone": "b"})
TYPED_CLUSTER = ClusterFacts((A100_NODE, L4_NODE))


class Work(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task


def plan_of(**changes: Any) -> Plan:
    return Pipeline("p", stages=[Work().with_(**changes)]).build()


class TestGpuShare:
    def test_is_a_share_of_the_actual_device(self) -> None:
        wanted = Resources(gpu_memory_gb=20)
        assert gpus_on(wanted, GPU_NODE) == 0.5
        assert gpus_on(wanted, BIG_GPU_NODE) == 0.25
        assert gpus_on(wanted, CPU_NODE) is None
        assert gpus_on(Resources(gpu_memory_gb=60), GPU_NODE) is None

    @given(wanted=st.floats(1e-6, 200, allow_nan=False), device=st.floats(1, 200, allow_nan=False))
    def test_is_enough_and_never_zero(self, wanted: float, device: float) -> None:
        share = gpu_share(min(wanted, device), device)
        assert 0.0001 <= share <= 1
        assert share * device >= min(wanted, device) - 1e-6
        assert round(share * 10_000) == pytest.approx(share * 10_000)


class TestActorOptions:
    def test_all_kinds(self) -> None:
        wanted = Resources(cpus=2, gpus=0.5, memory_gb=3, custom={"disk": 1})
        assert actor_options(wanted) == {
            "num_cpus": 2.0,
            "num_gpus": 0.5,
            "memory": 3_000_000_000,
            "resources": {"disk": 1.0},
        }

    def test_gpu_memory_needs_a_node(self) -> None:
        options = actor_options(Resources(gpu_memory_gb=10), GPU_NODE)
        assert options["num_gpus"] == 0.25
        assert options["scheduling_strategy"].node_id == GPU_NODE.node_id
        with pytest.raises(ValueError, match="devices differ: say on which node"):
            actor_options(Resources(gpu_memory_gb=10))

    def test_amounts_finer_than_rays_units_are_rounded_up(self) -> None:
        assert actor_options(Resources(cpus=0.000001))["num_cpus"] == 0.0001
        assert actor_options(Resources(cpus=0.1))["num_cpus"] == 0.1


class TestMaxWorkersOn:
    @pytest.mark.parametrize(
        ("wanted", "node", "workers"),
        [
            (Resources(cpus=0.25), CPU_NODE, 64),
            (Resources(cpus=1, memory_gb=16), CPU_NODE, 4),
            (Resources(cpus=0), CPU_NODE, None),
            (Resources(cpus=1, gpus=1), CPU_NODE, 0),
            (Resources(cpus=1, gpus=0.5), GPU_NODE, 8),
            (Resources(cpus=0, gpus=0.6), GPU_NODE, 4),  # two do not fit on one device
            (Resources(cpus=0, gpus=2), GPU_NODE, 2),
            (Resources(cpus=0, gpu_memory_gb=30), GPU_NODE, 4),
            (Resources(cpus=0, gpu_memory_gb=30), BIG_GPU_NODE, 4),
            (Resources(cpus=1, custom={"disk": 1}), GPU_NODE, 2),
            (Resources(cpus=0, gpus=1, accelerator="A100"), A100_NODE, 4),
            (Resources(cpus=0, gpus=1, accelerator="A100"), L4_NODE, 0),
            (Resources(cpus=1, labels={"zone": "a"}), A100_NODE, 8),
            (Resources(cpus=1, labels={"zone": "a"}), L4_NODE, 0),
        ],
    )
    def test_how_many_workers_fit(
        self, wanted: Resources, node: NodeFacts, workers: int | None
    ) -> None:
        assert max_workers_on(wanted, node) == workers


class TestUnmetDemands:
    @pytest.mark.parametrize(
        "fits",
        [
            Resources(cpus=16),
            Resources(gpus=4),
            Resources(gpu_memory_gb=40),
            Resources(cpus=1, custom={"disk": 2}),
        ],
    )
    def test_demands_that_are_met(self, fits: Resources) -> None:
        assert list(unmet_demands(plan_of(resources=fits), CLUSTER)) == []

    @pytest.mark.parametrize(
        ("wanted", "problem"),
        [
            ({"gpus": 1, "accelerator": "H100"}, r"of type H100, .*the types there are: A100, L4"),
            ({"labels": {"zone": "c"}}, "label zone=c, .*it is a or b there"),
            ({"labels": {"rack": "1"}}, "label rack=1, .*no node has that label"),
            ({"gpus": 1, "accelerator": "L4", "labels": {"zone": "a"}}, "no single node"),
        ],
    )
    def test_types_of_gpus_and_labels_that_no_node_has(
        self, wanted: dict[str, Any], problem: str
    ) -> None:
        [found] = unmet_demands(plan_of(resources=Resources(**wanted)), TYPED_CLUSTER)
        assert re.search(problem, found)

    @pytest.mark.parametrize(
        ("wanted", "problem"),
        [
            (Resources(cpus=17), "asks for 17 CPU on one node, but the nodes have at most 16"),
            (Resources(gpus=8), "asks for 8 GPU on one node, but the nodes have at most 4"),
            (Resources(memory_gb=65), "asks for 65 GB of memory on one node, but the nodes have"),
            (Resources(custom={"tpu": 1}), "asks for 1 tpu on one node, but the nodes have none"),
            (Resources(gpus=1.5), "asks for 1.5 GPU, but more than one must be a whole number"),
            (Resources(gpu_memory_gb=80), "asks for 80 GB of a GPU, but the largest one has 40"),
            (
                Resources(cpus=12, gpus=1),
                "asks for 12 CPU and 1 GPU together, but no single node has all of it",
            ),
        ],
    )
    def test_demands_that_no_node_meets(self, wanted: Resources, problem: str) -> None:
        [message] = unmet_demands(plan_of(resources=wanted), CLUSTER)
        assert message.startswith(f"stage 1 'work' {problem}")
        assert message.endswith(
            "; the cluster has 1 node with 16 CPU, 64 GB of memory; "
            "1 node with 8 CPU, 32 GB of memory, 4 GPU of 40 GB, 2 disk; "
            "set its resources to what there is, or join a cluster that has it (RAY_ADDRESS)"
        )

    def test_gpus_of_unknown_size(self) -> None:
        unknown = ClusterFacts((NodeFacts("x", cpus=4, gpus=1, memory_gb=8),))
        [problem] = unmet_demands(plan_of(resources=Resources(gpu_memory_gb=1)), unknown)
        assert "how much the GPUs here have is not known; ask with gpus= instead" in problem
        assert "the label curator.gpu-memory-gb" in problem

    def test_workers_that_hold_devices_cannot_take_turns(self) -> None:
        halves = Resources(cpus=0, gpus=0.5)
        assert not list(unmet_demands(plan_of(resources=halves, num_workers=8), CLUSTER))
        [problem] = unmet_demands(plan_of(resources=halves, num_workers=9), CLUSTER)
        assert "asks for 9 workers, but there is room for 8 of its size" in problem
        assert not list(unmet_demands(plan_of(num_workers=99), CLUSTER))


class TestUnmetDemandsWithAnAutoscaler:
    """The cluster has one, and no node with what is asked for."""

    TYPES = node_types(
        {
            "cpu": {"CPU": 32},
            "h100": {"CPU": 8, "GPU": 8, "accelerator_type:H100": 8, "memory": 64e9},
        }
    )

    @pytest.fixture(autouse=True)
    def autoscaler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.types: tuple[NodeFacts, ...] = ()
        monkeypatch.setattr(resources, "find_autoscaler", lambda: Autoscaler(self.types))

    def problems(self, types: tuple[NodeFacts, ...] = (), **changes: Any) -> list[str]:
        self.types = types
        return list(unmet_demands(plan_of(**changes), ClusterFacts((CPU_NODE,))))

    @pytest.mark.parametrize(
        "wanted",
        [
            Resources(cpus=32),
            Resources(gpus=1),
            Resources(gpus=8, accelerator="H100"),
            Resources(gpu_memory_gb=70),
            Resources(cpus=1, labels={"zone": "a"}),
        ],
    )
    @pytest.mark.parametrize("types", [(), TYPES])
    def test_what_a_type_may_bring_is_accepted(
        self, wanted: Resources, types: tuple[NodeFacts, ...]
    ) -> None:
        assert not self.problems(types, resources=wanted)

    @pytest.mark.parametrize(
        "wanted",
        [
            Resources(gpus=1, accelerator="L4"),
            Resources(gpus=16),
            Resources(cpus=33),
            Resources(gpus=1, memory_gb=65),
            Resources(custom={"tpu": 1}),
        ],
    )
    def test_what_no_type_brings_is_refused_with_the_types(self, wanted: Resources) -> None:
        [problem] = self.problems(self.TYPES, resources=wanted)
        assert "stage 1 'work' asks for" in problem
        assert all(known in problem for known in ("16 CPU", "32 CPU", "8 H100 GPU"))

    def test_workers_that_hold_devices_may_need_more_nodes(self) -> None:
        assert not self.problems(self.TYPES, resources=Resources(gpus=1), num_workers=20)

    def test_what_no_node_can_ever_have_is_refused(self) -> None:
        [problem] = self.problems(resources=Resources(gpus=1.5))
        assert "must be a whole number" in problem

    def test_it_is_not_looked_for_without_need(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(resources, "find_autoscaler", lambda: pytest.fail("looked for"))
        assert not self.problems(resources=Resources(cpus=1))


PLAIN, SMALL = NodeFacts("plain", cpus=4), NodeFacts("small", cpus=1)
GPUS = NodeFacts("gpus", cpus=16, gpus=8)


def cpus(number: float, gpus: float = 0) -> Resources:
    return Resources(cpus=number, gpus=gpus)


def test_cpu_stages_stay_off_gpu_nodes_if_others_have_room() -> None:
    nodes = [PLAIN, SMALL, GPUS]

    assert eligible_nodes(cpus(1), nodes, {"gpus"}) == ["plain", "small"]
    assert eligible_nodes(cpus(8), nodes, {"gpus"}) == ["gpus"]
    assert eligible_nodes(cpus(1, gpus=2), nodes, {"gpus"}) == ["gpus"]
    assert eligible_nodes(cpus(1), nodes[2:], {"gpus"}) == ["gpus"]
    assert eligible_nodes(cpus(32), nodes, {"gpus"}) == []


def test_cpu_stages_wait_for_nodes_that_are_expected() -> None:
    more = NodeFacts("more", cpus=4, gpus=1)

    assert eligible_nodes(cpus(1), [GPUS], {"gpus"}, [PLAIN]) == []
    assert eligible_nodes(cpus(8), [GPUS], {"gpus"}, [PLAIN]) == ["gpus"]
    assert eligible_nodes(cpus(1), [GPUS], {"gpus", "more"}, [more]) == ["gpus"]
    assert eligible_nodes(cpus(1, gpus=1), [GPUS], {"gpus"}, [PLAIN]) == ["gpus"]


def test_excluded_nodes() -> None:
    assert excluded_nodes(cpus(1), [PLAIN, GPUS]) == ["gpus"]
    assert excluded_nodes(cpus(8), [PLAIN, GPUS]) == []  # no other node has room
    assert excluded_nodes(cpus(1, gpus=1), [PLAIN, GPUS]) == []
    assert excluded_nodes(cpus(1), [GPUS]) == []
    assert excluded_nodes(cpus(1), [PLAIN, SMALL]) == []
