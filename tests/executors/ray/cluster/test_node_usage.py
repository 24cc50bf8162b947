"""The usage of nodes: this machine is read here, others by an agent while a run uses them."""

from dataclasses import replace
from typing import Any

import ray
from curator_ray.cluster.node_usage import NodeUsageMonitor
from curator_ray.cluster.nodes import ClusterFacts, current_cluster
from waitkit import eventually


def far_away(node_id: str) -> ClusterFacts:
    """Return the cluster as if one of its nodes were another machine."""
    nodes = current_cluster().nodes
    return ClusterFacts(
        tuple(replace(n, address="far") if n.node_id == node_id else n for n in nodes)
    )


def test_other_machines_are_read_while_they_are_used(cluster: Any) -> None:
    here = ray.get_runtime_context().get_node_id()
    [other] = [node.node_id for node in current_cluster().nodes if node.node_id != here]
    facts = far_away(other)
    used = [here]
    monitor = NodeUsageMonitor(lambda: facts, lambda: tuple(used), interval_s=0.02)
    own = facts.node(here)
    assert own is not None
    monitor.start()
    try:
        assert list(monitor.latest()) == [own.address]
        for _ in range(2):  # an agent that ended is followed by another
            used.append(other)
            assert eventually(lambda: "far" in monitor.latest())
            assert monitor.latest()["far"].total_bytes == monitor.latest()[own.address].total_bytes
            used.remove(other)
            assert eventually(lambda: "far" not in monitor.latest())
    finally:
        monitor.close()


def test_a_node_that_died_is_left_out(cluster: Any) -> None:
    nodes = current_cluster().nodes
    facts = ClusterFacts((*nodes, replace(nodes[0], node_id="ab" * 28, address="dead")))
    used = tuple(node.node_id for node in facts.nodes)
    asked: list[None] = []

    def used_nodes() -> tuple[str, ...]:
        asked.append(None)
        return used

    monitor = NodeUsageMonitor(lambda: facts, used_nodes, interval_s=0.02)
    monitor.start()
    try:
        assert eventually(lambda: len(asked) > 2)
        assert "dead" not in monitor.latest()
        assert monitor.latest()
    finally:
        monitor.close()
