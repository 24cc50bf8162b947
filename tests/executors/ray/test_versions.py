"""Versions on the nodes are compared with those here."""

import platform
from typing import Any

import pytest
from curator_ray.errors import ClusterError
from curator_ray.facts import look
from curator_ray.versions import ask, examine, our_packages, refuse_differences

HERE = {"python": "3.11.7", "ray": "2.60.0", "curator-core": "0.1.0", "curator-text": "0.2.0"}


class TestRefuseDifferences:
    def test_the_same_is_fine(self) -> None:
        refuse_differences(HERE, {"a": dict(HERE), "b": dict(HERE)})

    def test_names_each_difference_and_its_nodes(self) -> None:
        old = {**HERE, "curator-core": "0.0.9"}
        nodes = {"a": old, "b": old, "c": old, "d": old, "e": {**HERE, "python": "3.12.1"}}
        with pytest.raises(ClusterError) as error:
            refuse_differences(HERE, nodes)
        assert str(error.value) == (
            "this process and the cluster do not run the same versions: "
            "curator-core 0.1.0 here, 0.0.9 on a, b, c and 1 more nodes; "
            "python 3.11.7 here, 3.12.1 on e. "
            "Install the same on every node, or start from an environment like theirs"
        )

    def test_a_patch_of_python_is_no_difference(self) -> None:
        refuse_differences(HERE, {"a": {**HERE, "python": "3.11.2"}})

    def test_only_what_is_needed_everywhere_may_not_be_missing(self) -> None:
        refuse_differences(HERE, {"a": {**HERE, "curator-text": ""}})
        with pytest.raises(ClusterError, match=r"curator-core 0\.1\.0 here, not installed on a"):
            refuse_differences(HERE, {"a": {**HERE, "curator-core": ""}})


class TestExamine:
    def test_every_node_is_asked(self, cluster: Any) -> None:
        facts = look()
        answers = ask(facts.nodes)
        assert set(answers) == {node.node_id for node in facts.nodes}
        for answer in answers.values():
            assert answer["versions"]["python"] == platform.python_version()
            assert set(our_packages()) <= set(answer["versions"])
        assert examine(facts, facts.nodes) == {}
