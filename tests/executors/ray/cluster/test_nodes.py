"""Facts about nodes, and changes of a cluster."""

from typing import Any

import pytest
from curator_ray.cluster.nodes import (
    ClusterMonitor,
    NodeFacts,
    cluster_facts,
    current_cluster,
    describe_node,
)
from waitkit import eventually

RAW = {
    "NodeID": "abcdef0123456789",
    "Alive": True,
    "NodeManagerAddress": "10.0.0.1",
    "Resources": {
        "CPU": 8.0,
        "GPU": 2.0,
        "memory": 64e9,
        "object_store_memory": 20e9,
        "disk": 3.0,
        "node:10.0.0.1": 1.0,
        "accelerator_type:A100": 1.0,
    },
    "Labels": {"curator.gpu-memory-gb": "80"},
}


class TestClusterFacts:
    def test_one_node(self) -> None:
        [node] = cluster_facts([RAW]).nodes
        assert node == NodeFacts(
            node_id="abcdef0123456789",
            address="10.0.0.1",
            cpus=8.0,
            gpus=2.0,
            memory_gb=64.0,
            object_store_gb=20.0,
            custom={"disk": 3.0},
            labels={"curator.gpu-memory-gb": "80"},
            gpu_memory_gb=80.0,
            accelerator="A100",
        )
        assert node.name == "10.0.0.1 (abcdef01)"
        assert describe_node(node) == "8 CPU, 64 GB of memory, 2 A100 GPU of 80 GB, 3 disk"

    def test_dead_nodes_are_left_out(self) -> None:
        assert cluster_facts([{**RAW, "Alive": False}]).nodes == ()

    def test_a_label_overrides_the_gpu_memory_of_nvidia_smi(self) -> None:
        unlabelled = {**RAW, "Labels": {}}
        [node] = cluster_facts([unlabelled], {"abcdef0123456789": 24.0}).nodes
        assert node.gpu_memory_gb == 24.0
        [node] = cluster_facts([RAW], {"abcdef0123456789": 24.0}).nodes
        assert node.gpu_memory_gb == 80.0

    def test_equal_nodes_are_described_together(self) -> None:
        small = {"NodeID": "s", "Alive": True, "Resources": {"CPU": 2.0, "memory": 4e9}}
        assert cluster_facts([RAW, small, {**small, "NodeID": "t"}]).describe() == (
            "1 node with 8 CPU, 64 GB of memory, 2 A100 GPU of 80 GB, 3 disk; "
            "2 nodes with 2 CPU, 4 GB of memory"
        )


class TestClusterMonitor:
    def test_several_nodes(self, cluster: Any) -> None:
        facts = current_cluster()
        assert sorted(node.cpus for node in facts.nodes) == [1.0, 2.0]
        assert (facts.cpus, facts.gpus) == (3.0, 2.0)
        [with_gpus] = [node for node in facts.nodes if node.gpus]
        assert with_gpus.gpu_memory_gb == 40.0
        assert facts.node(with_gpus.node_id) is with_gpus
        assert facts.node("other") is None

    def test_a_node_that_dies_while_another_is_asked_is_reported(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        listed = [RAW, {**RAW, "NodeID": "dying"}]
        monkeypatch.setattr("ray.nodes", lambda: listed)
        monitor = ClusterMonitor()
        listed.append({**RAW, "NodeID": "joined", "Labels": {}})
        [joined] = monitor.changes().joined
        listed[1:] = [{**listed[1], "Alive": False}, listed[2], {**RAW, "NodeID": "later"}]

        monitor.set_gpu_memory({joined.node_id: 24.0})
        changes = monitor.changes()

        assert [node.node_id for node in changes.left] == ["dying"]
        assert [node.node_id for node in changes.joined] == ["later"]
        [found] = [node for node in monitor.facts.nodes if node.node_id == "joined"]
        assert found.gpu_memory_gb == 24.0

    def test_a_node_joins_and_leaves(self, cluster: Any) -> None:
        monitor = ClusterMonitor()
        assert not monitor.changes()
        node = cluster.add_node(num_cpus=5, object_store_memory=100_000_000)
        [joined] = monitor.changes().joined
        assert joined.cpus == 5.0
        assert monitor.facts.cpus == 8.0
        cluster.remove_node(node, allow_graceful=True)
        seen = []
        assert eventually(lambda: bool(seen.append(monitor.changes()) or seen[-1].left))
        assert [left.node_id for left in seen[-1].left] == [joined.node_id]
        assert monitor.facts.cpus == 3.0
