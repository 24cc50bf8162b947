"""A survey asks every node once, and those that join."""

from typing import Any

import pytest
from curator_ray import surveying
from curator_ray.connecting import Connection, connected
from curator_ray.facts import NodeFacts
from curator_ray.surveying import Survey


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which nodes were asked; they tell that their GPUs have 24 GB."""
    nodes: list[str] = []

    def examine(cluster: Any, new: list[NodeFacts]) -> dict[str, float]:
        nodes.extend(node.node_id for node in new)
        return {node.node_id: 24.0 for node in new}

    monkeypatch.setattr(surveying, "examine", examine)
    monkeypatch.setattr(surveying, "_EXAMINED", {})
    return nodes


class TestSurvey:
    def test_asks_each_node_once(self, cluster: Any, asked: list[str]) -> None:
        with connected() as connection:
            survey = Survey(connection)
            assert sorted(asked) == sorted(node.node_id for node in survey.facts.nodes)
            assert {node.gpu_memory_gb for node in survey.facts.nodes} == {24.0, 40.0}
            assert not survey.is_far
            again = Survey(connection)
            assert len(asked) == 2
            assert again.facts == survey.facts
            node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
            [joined] = survey.changes().joined
            assert joined.gpu_memory_gb == 24.0
            assert asked[2:] == [joined.node_id]
            cluster.remove_node(node)

    def test_takes_a_private_cluster_for_what_it_is(self, cluster: Any, asked: list[str]) -> None:
        assert Survey(Connection("private", "127.0.0.1:1")).facts.cpus >= 3
        assert asked == []
