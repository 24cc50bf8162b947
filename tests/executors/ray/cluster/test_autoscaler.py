"""Whether a cluster has an autoscaler, what that brings, and requests for nodes."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core import Resources
from curator_ray import compat
from curator_ray.cluster import autoscaler
from curator_ray.cluster.autoscaler import NodeRequests, find_autoscaler, node_types
from curator_ray.cluster.nodes import current_cluster
from waitkit import eventually

GPU = Resources(cpus=1, gpus=1)
ONE_CPU = Resources()


@dataclass
class Cluster:
    """Has placement groups that are created when a test says so, and a clock of its own."""

    now: float = 0.0
    groups: dict[int, tuple[dict[str, float], dict[str, str]]] = field(default_factory=dict)
    created: set[str] = field(default_factory=set)
    made: int = 0

    def create(self, bundle: dict[str, float], labels: dict[str, str]) -> int:
        self.made += 1
        self.groups[self.made] = (bundle, labels)
        return self.made

    def remove(self, group: int) -> None:
        del self.groups[group]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(autoscaler, "time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr(autoscaler, "_create", made.create)
    monkeypatch.setattr(autoscaler, "_remove", made.remove)
    monkeypatch.setattr(autoscaler, "_created", lambda: made.created)
    monkeypatch.setattr(autoscaler, "_key", str)
    return made


class TestNodeRequests:
    def test_each_worker_is_requested_on_a_node_that_is_not_known(self, fake: Cluster) -> None:
        NodeRequests().update({GPU: 2}, ["b", "a"])
        bundle, labels = fake.groups[1]
        assert bundle == {"CPU": 1, "GPU": 1}
        assert labels == {"ray.io/node-id": "!in(a,b)"}
        assert len(fake.groups) == 2

    @pytest.mark.parametrize(
        ("size", "bundle", "labels"),
        [
            (Resources(cpus=0.5, gpu_memory_gb=20), {"CPU": 0.5, "GPU": 1}, {}),
            (Resources(memory_gb=2), {"CPU": 1, "memory": 2e9}, {}),
            (Resources(cpus=0, custom={"disk": 2}), {"disk": 2}, {}),
            (
                Resources(cpus=0, gpus=1, accelerator="H100", labels={"zone": "a"}),
                {"GPU": 1},
                {"ray.io/accelerator-type": "H100", "zone": "a"},
            ),
        ],
    )
    def test_a_request_has_all_that_a_worker_needs(
        self, size: Resources, bundle: dict[str, float], labels: dict[str, str], fake: Cluster
    ) -> None:
        NodeRequests().update({size: 1}, [])
        assert fake.groups[1] == (bundle, labels)

    def test_they_follow_what_is_wanted(self, fake: Cluster) -> None:
        requests = NodeRequests()
        requests.update({GPU: 3}, [])
        fake.now = 10
        requests.update({GPU: 1, ONE_CPU: 1}, [])
        assert [bundle for bundle, _ in fake.groups.values()] == [{"CPU": 1, "GPU": 1}, {"CPU": 1}]

    def test_they_change_only_every_few_seconds(self, fake: Cluster) -> None:
        requests = NodeRequests()
        requests.update({GPU: 1}, [])
        fake.now = 2
        requests.update({GPU: 2}, [])
        assert len(fake.groups) == 1
        fake.now = 6
        requests.update({GPU: 2}, [])
        assert len(fake.groups) == 2

    def test_what_is_wanted_still_is_not_requested_again(self, fake: Cluster) -> None:
        requests = NodeRequests()
        for fake.now in (0, 10, 20):
            requests.update({GPU: 2}, [])
        assert fake.made == 2

    def test_a_request_that_a_node_has_met_frees_it_at_once(self, fake: Cluster) -> None:
        requests = NodeRequests()
        requests.update({GPU: 2}, [])
        fake.created = {"1"}
        requests.drop_met()
        assert list(fake.groups) == [2]

    def test_none_is_left_at_the_end(self, fake: Cluster) -> None:
        requests = NodeRequests()
        requests.update({GPU: 2, ONE_CPU: 3}, [])
        requests.withdraw()
        assert not fake.groups


class TestNodeTypes:
    def test_they_are_described_like_nodes(self) -> None:
        [node] = node_types({"gpu": {"CPU": 8, "GPU": 4, "accelerator_type:H100": 4, "disk": 1}})
        assert (node.node_id, node.cpus, node.gpus) == ("gpu", 8, 4)
        assert (node.accelerator, node.custom) == ("H100", {"disk": 1})


@pytest.fixture
def status(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Let the cluster that this process seems to be connected to have a certain status."""

    def has(v1: object = None, v2: tuple[str, ...] = (), groups: tuple[Any, ...] = ()) -> None:
        import ray

        nodes = [SimpleNamespace(instance_id=name) for name in v2]
        v2_status = SimpleNamespace(active_nodes=nodes[:1], idle_nodes=nodes[1:])
        context = SimpleNamespace(gcs_address="127.0.0.1:1")
        config = SimpleNamespace(node_group_configs=groups)
        for name, answer in [
            ("INTERNAL_KV", lambda key: json.dumps(v1).encode() if v1 else None),
            ("AUTOSCALER_STATUS", lambda address: v2_status),
            ("CLUSTER_CONFIG", lambda: config),
        ]:
            monkeypatch.setattr(autoscaler, name, SimpleNamespace(get=lambda answer=answer: answer))
        monkeypatch.setattr(ray, "is_initialized", lambda: True)
        monkeypatch.setattr(ray, "get_runtime_context", lambda: context)
        monkeypatch.setattr(autoscaler, "is_client_connected", lambda: False)

    return has


class TestFindAutoscaler:
    def test_none_if_nodes_were_started_by_hand(self, status: Callable[..., None]) -> None:
        status(v1={"autoscaler_report": {"active_nodes": {"node_0a1b": 1}}}, v2=("", ""))
        assert find_autoscaler() is None

    def test_one_that_writes_a_status(self, status: Callable[..., None]) -> None:
        status(v1={"autoscaler_report": {"active_nodes": {"ray.head.default": 1}}})
        found = find_autoscaler()
        assert found is not None
        assert found.types == ()

    def test_one_that_launches_instances(self, status: Callable[..., None]) -> None:
        status(v2=("i-1", ""))
        assert find_autoscaler() is not None

    def test_its_types_of_nodes_if_they_are_known(self, status: Callable[..., None]) -> None:
        gpu = SimpleNamespace(name="gpu", resources={"CPU": 8, "GPU": 1}, max_count=4)
        head = SimpleNamespace(name="head", resources={"CPU": 64}, max_count=0)
        status(v2=("i-1",), groups=(gpu, head))
        found = find_autoscaler()
        assert found is not None
        assert [node.node_id for node in found.types] == ["gpu"]

    def test_none_on_an_untested_version_of_ray(
        self, status: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        status(v2=("i-1",))
        for name in ("INTERNAL_KV", "AUTOSCALER_STATUS", "CLUSTER_CONFIG"):
            monkeypatch.setattr(autoscaler, name, getattr(compat, name))
        monkeypatch.setattr(compat, "installed_version", lambda: "9.9.0")
        assert find_autoscaler() is None


def test_a_cluster_that_was_started_by_hand(cluster: Any) -> None:
    from ray.util import placement_group_table

    assert find_autoscaler() is None
    requests = NodeRequests()
    requests.update({ONE_CPU: 2}, [node.node_id for node in current_cluster().nodes])
    requests.drop_met()
    ours = [key for groups in requests._groups.values() for key in map(autoscaler._key, groups)]
    assert len(ours) == 2  # its nodes have room, but are known
    requests.withdraw()
    assert eventually(lambda: all(placement_group_table()[k]["state"] == "REMOVED" for k in ours))
