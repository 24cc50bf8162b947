"""What a run requests of an autoscaler, which is faked here: see `../autoscaling` for Ray's."""

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest
from clusterkit import Grid, Where, by, met, ran
from curator_core import Resources, RunResult
from curator_core.errors import StageError
from curator_ray.cluster.autoscaler import Autoscaler
from waitkit import eventually

LATE = Resources(cpus=0.5, custom={"late": 1})
HAS_LATE = {"num_cpus": 1, "resources": {"late": 1}}


def requests(state: str) -> list[dict[str, Any]]:
    """Return the requests for a node with the `late` resource that are in this state."""
    from ray.util import placement_group_table

    return [
        group
        for group in placement_group_table().values()
        if group["state"] == state and any("late" in b for b in group["bundles"].values())
    ]


class FakeAutoscaler:
    """Starts one node for the first request that no node meets."""

    def __init__(self, field: Grid) -> None:
        self._field = field
        self._has_ended = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self.nodes: list[Any] = []

    def __enter__(self) -> "FakeAutoscaler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._has_ended.wait(0.1):  # its node ends with this thread
            if not self.nodes and requests("PENDING"):
                self.nodes.append(self._field.add(**HAS_LATE))


@pytest.fixture
def autoscaled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every cluster seem to have an autoscaler."""
    for module in ("curator_ray.resources", "curator_ray.cluster.survey"):
        monkeypatch.setattr(f"{module}.find_autoscaler", Autoscaler)


def run_late(**config: Any) -> RunResult:
    """Run a stage that needs what no node of the cluster has."""
    late = Where().with_(name="late", resources=LATE)
    return ran([Where().with_(name="first"), late], config=config)


class TestRequests:
    def test_a_node_is_requested_and_used(self, field: Grid, autoscaled: None) -> None:
        with FakeAutoscaler(field) as autoscaler:
            result = run_late()

        [node] = autoscaler.nodes
        assert by(met(result, "late"), "node") == {node.node_id: 40}
        assert eventually(lambda: not requests("PENDING") and not requests("CREATED"))

    def test_none_is_left_after_a_failure(self, field: Grid, autoscaled: None) -> None:
        with pytest.raises(StageError) as error:
            run_late(scale_up_timeout_s=3)

        assert all(fact in str(error.value) for fact in ("late", "scale_up_timeout_s"))
        assert requests("REMOVED")
        assert eventually(lambda: not requests("PENDING"))

    def test_ray_withdraws_them_if_the_driver_is_killed(self, field: Grid) -> None:
        before = len(requests("REMOVED"))
        driver = subprocess.Popen(
            [sys.executable, "-c", REQUESTING_DRIVER, field.address], stdout=subprocess.PIPE
        )
        with driver:
            assert eventually(lambda: bool(requests("PENDING")))
            os.kill(driver.pid, signal.SIGKILL)
        assert eventually(lambda: not requests("PENDING"))
        assert len(requests("REMOVED")) == before + 1


REQUESTING_DRIVER = """
import sys, time, ray
from curator_core import Resources
from curator_ray.cluster.autoscaler import NodeRequests
ray.init(address=sys.argv[1], log_to_driver=False)
NodeRequests().update({Resources(custom={"late": 1}): 1}, [])
time.sleep(600)
"""
