"""Several nodes: where stages run, on which devices, and how often each node is set up."""

import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from clusterkit import Grid, Lives, Where, by, met, places, ran
from curator_core import Resources, Task, WorkerInfo
from curator_core.errors import ResourceError
from curator_core.testing.contract.logs import note


def node_with(three: Grid, name: str) -> str:
    import ray

    [found] = [
        node["NodeID"] for node in ray.nodes() if node["Alive"] and node["Resources"].get(name)
    ]
    return str(found)


pytestmark = pytest.mark.usefixtures("three")


@dataclass(kw_only=True, eq=False)
class Waits(Lives):
    """Waits in its tasks until this many workers have been set up."""

    workers: int

    def process(self, task: Task[Any]) -> Task[Any]:
        wait_for_workers(self.log, self.workers)
        return super().process(task)


@dataclass(kw_only=True, eq=False)
class WaitsWhere(Where):
    """The same, and adds to each task where it ran."""

    log: str
    workers: int

    def setup(self, worker: WorkerInfo) -> None:
        super().setup(worker)
        note(self.log, "setup", self.name, f"{worker.node.node_id}/{worker.worker_id}")

    def process(self, task: Task[Any]) -> Task[Any]:
        wait_for_workers(self.log, self.workers)
        return super().process(task)


def wait_for_workers(log: str, workers: int, *, by_node: bool = False) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = places(Path(log), "setup")
        nodes = {place.partition("/")[0] for place in found}
        if (len(nodes) if by_node else found.total()) >= workers:
            return
        time.sleep(0.01)


@dataclass(kw_only=True, eq=False)
class WaitsForNodes(WaitsWhere):
    """Waits until workers on this many nodes have been set up."""

    def process(self, task: Task[Any]) -> Task[Any]:
        wait_for_workers(self.log, self.workers, by_node=True)
        return Where.process(self, task)


class TestPlaces:
    def test_a_cpu_stage_runs_on_all_nodes_and_sees_no_device(self, tmp_path: Path) -> None:
        where = WaitsForNodes(log=str(tmp_path / "log"), workers=3).with_(name="where")
        result = ran([where], 60)

        assert len(result) == 60
        assert len(by(met(result, "where"), "node")) == 3
        assert set(by(met(result, "where"), "devices")) == {""}

    def test_gpu_workers_get_a_device_each(self, three: Grid) -> None:
        gpu = Where(0.1).with_(name="gpu", resources=Resources(cpus=0.5, gpus=1))

        result = ran([Where(), gpu, Where().with_(name="last")], 60)

        found = met(result, "gpu")
        assert set(by(found, "node")) == {node_with(three, "GPU")}
        assert sorted(by_worker(found).values()) == ["0", "1"]
        assert len(met(result, "last")) == 60

    @pytest.mark.soak
    def test_two_halves_share_a_gpu(self) -> None:
        half = Where(0.1).with_(name="half", resources=Resources(cpus=0.1, gpus=0.5))

        result = ran([half.with_(num_workers=2)], 40)

        devices = by_worker(met(result, "half"))
        assert len(devices) == 2
        assert len(set(devices.values())) == 1

    def test_four_workers_of_10_gb_share_a_gpu_of_40(self, tmp_path: Path) -> None:
        log = str(tmp_path / "log")
        small = WaitsWhere(log=log, workers=8).with_(
            name="small", num_workers=8, resources=Resources(cpus=0.1, gpu_memory_gb=10)
        )

        result = ran([small], 160)

        devices = sorted(by_worker(met(result, "small")).values())
        assert devices == ["0"] * 4 + ["1"] * 4

    def test_more_workers_than_fit_are_refused(self) -> None:
        small = Where().with_(name="small", resources=Resources(gpu_memory_gb=10, cpus=0.1))

        with pytest.raises(ResourceError, match="asks for 9 workers, but there is room for 8 of"):
            ran([small.with_(num_workers=9)])

    @pytest.mark.soak
    def test_halves_and_wholes_fit_together(self) -> None:
        """Two halves leave one device free, wherever Ray would have put them."""
        half = Where(0.05).with_(name="half", resources=Resources(cpus=0.1, gpus=0.5))
        whole = Where(0.05).with_(name="whole", resources=Resources(cpus=0.1, gpus=1))

        result = ran([half.with_(num_workers=2), whole.with_(num_workers=1)], 40)

        halves = set(by_worker(met(result, "half")).values())
        wholes = set(by_worker(met(result, "whole")).values())
        assert (len(halves), len(wholes), halves & wholes) == (1, 1, set())

    @pytest.mark.soak
    def test_custom_resources(self, three: Grid) -> None:
        disk = Where(0.1).with_(name="disk", resources=Resources(cpus=0.5, custom={"disk": 1}))

        result = ran([Where(), disk], 40)

        found = met(result, "disk")
        assert set(by(found, "node")) == {node_with(three, "disk")}
        assert len(by(found, "worker")) == 2


def by_worker(found: list[Any]) -> dict[str, str]:
    return {one.worker: one.devices for one in found}


class TestWorkers:
    def test_a_runtime_env_affects_one_stage_only(self) -> None:
        own = Where().with_(name="own", runtime_env={"env_vars": {"CURATOR_TEST_OWN": "yes"}})

        result = ran([Where(), own, Where().with_(name="last")], 40)

        assert set(by(met(result, "own"), "own")) == {"yes"}
        assert set(by(met(result, "where"), "own")) == {""}
        assert set(by(met(result, "last"), "own")) == {""}

    @pytest.mark.parametrize("number", [1, 5])
    def test_a_fixed_number_of_workers(self, number: int, tmp_path: Path) -> None:
        log = tmp_path / "log"
        fixed = Waits(log=str(log), workers=number).with_(name="fixed", num_workers=number)

        result = ran([fixed.with_(resources=Resources(cpus=0.5))], 60)

        assert len(result) == 60
        assert places(log, "setup").total() == number

    def test_each_node_is_set_up_once_and_each_worker_torn_down(self, tmp_path: Path) -> None:
        log = tmp_path / "log"
        half = Resources(cpus=0.5)

        result = ran([Waits(log=str(log), workers=6).with_(resources=half)], 60)

        assert len(result) == 60
        assert sorted(places(log, "node").values()) == [1, 1, 1]
        assert places(log, "setup").total() > 3
        assert set(places(log, "setup").values()) == {1}
        assert places(log, "teardown") == places(log, "setup")


class TestRefusals:
    def test_more_cpus_than_any_node(self) -> None:
        big = Where().with_(name="big", resources=Resources(cpus=4))

        with pytest.raises(ResourceError) as error:
            ran([big])

        message = str(error.value)
        assert "stage 1 'big' asks for 4 CPU on one node, but the nodes have at most 1" in message
        assert re.search("the cluster has .*1 node with 1 CPU, .* 2 GPU of 40 GB", message)

    def test_more_memory_than_any_gpu(self) -> None:
        big = Where().with_(name="big", resources=Resources(gpu_memory_gb=80))

        with pytest.raises(ResourceError, match="asks for 80 GB of a GPU, but the largest one has"):
            ran([big])

    def test_resources_that_no_node_has_together(self) -> None:
        both = Where().with_(name="both", resources=Resources(gpus=1, custom={"disk": 1}))

        with pytest.raises(ResourceError, match="1 GPU and 1 disk together, but no single node"):
            ran([both])
