"""Where stages run on several nodes, with which GPUs, and how often nodes are set up."""

from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, Lives, Where, by, met, places, ran
from curator_actor_pool.executor import RayActorPoolExecutor
from curator_core import Resources
from curator_core.errors import CuratorError, ResourceError

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("three")]  # as with streaming, in every run

GPU = Resources(cpus=0.5, gpus=1)


def run_on_pools(stages: list[Any], count: int = 40, **config: Any) -> Any:
    return ran(stages, count, executor=RayActorPoolExecutor(config=config))


def nodes_with(name: str) -> set[str]:
    import ray

    nodes = ray.nodes()  # type: ignore[no-untyped-call]
    return {n["NodeID"] for n in nodes if n["Alive"] and n["Resources"].get(name)}


def test_a_stage_that_needs_no_gpu_stays_off_nodes_with_gpus(tmp_path: Path) -> None:
    log = tmp_path / "log"
    gpu = Where(0.02).with_(name="gpu", resources=GPU)

    result = run_on_pools([Lives(str(log), 0.05), Where(0.02), gpu, Where().with_(name="last")])

    cpu_nodes = nodes_with("CPU") - nodes_with("GPU")
    assert len(cpu_nodes) == 2
    assert set(by(met(result, "where"), "node")) == cpu_nodes
    assert set(by(met(result, "where"), "devices")) == {""}
    assert set(by(met(result, "gpu"), "node")) == nodes_with("GPU")
    assert {one.devices for one in met(result, "gpu")} == {"0", "1"}
    assert len(met(result, "last")) == 40
    # Each of these nodes was set up once, and every worker was torn down.
    assert places(log, "node") == dict.fromkeys(cpu_nodes, 1)
    assert places(log, "teardown") == places(log, "setup")


def test_a_stage_runs_on_the_node_that_has_its_resource(three: Grid) -> None:
    own = Where(0.01).with_(name="own", resources=Resources(cpus=0.5, custom={"disk": 1}))

    result = run_on_pools([own], 20)

    assert set(by(met(result, "own"), "node")) == nodes_with("disk")
    assert len(result) == 20


def test_a_stage_has_the_given_number_of_workers(tmp_path: Path) -> None:
    log = tmp_path / "log"
    fixed = Lives(str(log), 0.1).with_(num_workers=3, resources=Resources(cpus=0.5))

    assert len(run_on_pools([fixed], 60)) == 60
    assert places(log, "setup").total() == 3


def test_reserved_gpus_stay_free() -> None:
    gpu = Where(0.05).with_(name="gpu", resources=GPU)

    result = run_on_pools([gpu], 20, reserved_gpus=1)

    assert len(by(met(result, "gpu"), "worker")) == 1


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"reserved_cpus": 3}, "reserved_cpus is 3, but the cluster has 3 CPUs: nothing would be"),
        ({"reserved_gpus": 1}, r"asks for 2 GPU.*at most 1.*without the 1 GPUs that are reserved"),
    ],
)
def test_reserving_too_much_is_refused(config: dict[str, Any], message: str) -> None:
    two = Where().with_(name="two", resources=Resources(cpus=0, gpus=2))

    with pytest.raises((CuratorError, ResourceError), match=f"(?s){message}"):
        run_on_pools([two], 4, **config)
