"""A survey asks every node once, and compares versions."""

import platform
from typing import Any

import pytest
from curator_ray.cluster import survey as survey_module
from curator_ray.cluster.connection import Connection, connected
from curator_ray.cluster.nodes import NodeFacts, current_cluster
from curator_ray.cluster.survey import (
    Survey,
    ask_nodes,
    check_nodes,
    check_versions,
    compared_packages,
)
from curator_ray.errors import ClusterError


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes that were asked. They answer that their GPUs have 24 GB."""
    nodes: list[str] = []

    def check(cluster: Any, new: list[NodeFacts]) -> dict[str, float]:
        nodes.extend(node.node_id for node in new)
        return {node.node_id: 24.0 for node in new}

    monkeypatch.setattr(survey_module, "check_nodes", check)
    monkeypatch.setattr(survey_module, "_CHECKED", {})
    return nodes


class TestSurvey:
    def test_asks_each_node_once(self, cluster: Any, asked: list[str]) -> None:
        with connected() as connection:
            survey = Survey(connection)
            assert sorted(asked) == sorted(node.node_id for node in survey.facts.nodes)
            assert {node.gpu_memory_gb for node in survey.facts.nodes} == {24.0, 40.0}
            assert not survey.spans_machines
            again = Survey(connection)
            assert len(asked) == 2
            assert again.facts == survey.facts
            node = cluster.add_node(num_cpus=1, object_store_memory=100_000_000)
            [joined] = survey.changes().joined
            assert joined.gpu_memory_gb == 24.0
            assert asked[2:] == [joined.node_id]
            cluster.remove_node(node)

    def test_a_private_cluster_is_not_asked(self, cluster: Any, asked: list[str]) -> None:
        assert Survey(Connection("private", "127.0.0.1:1")).facts.cpus >= 3
        assert asked == []


HERE = {"python": "3.11.7", "ray": "2.60.0", "curator-core": "0.1.0", "curator-text": "0.2.0"}


class TestCheckVersions:
    def test_equal_versions(self) -> None:
        check_versions(HERE, {"a": dict(HERE), "b": dict(HERE)})

    def test_every_difference_is_named_with_its_nodes(self) -> None:
        old = {**HERE, "curator-core": "0.0.9"}
        nodes = {"a": old, "b": old, "c": old, "d": old, "e": {**HERE, "python": "3.12.1"}}
        with pytest.raises(ClusterError) as error:
            check_versions(HERE, nodes)
        assert str(error.value) == (
            "this process and the cluster do not run the same versions: "
            "curator-core 0.1.0 here, 0.0.9 on a, b, c and 1 more nodes; "
            "python 3.11.7 here, 3.12.1 on e. "
            "Install the same on every node, or start from an environment like theirs"
        )

    def test_patch_versions_of_python_may_differ(self) -> None:
        check_versions(HERE, {"a": {**HERE, "python": "3.11.2"}})

    def test_only_needed_packages_must_be_installed(self) -> None:
        check_versions(HERE, {"a": {**HERE, "curator-text": ""}})
        with pytest.raises(ClusterError, match=r"curator-core 0\.1\.0 here, not installed on a"):
            check_versions(HERE, {"a": {**HERE, "curator-core": ""}})


class TestAskNodes:
    def test_every_node_answers(self, cluster: Any) -> None:
        facts = current_cluster()
        answers = ask_nodes(facts.nodes)
        assert set(answers) == {node.node_id for node in facts.nodes}
        for answer in answers.values():
            assert answer["versions"]["python"] == platform.python_version()
            assert set(compared_packages()) <= set(answer["versions"])
        assert check_nodes(facts, facts.nodes) == {}
