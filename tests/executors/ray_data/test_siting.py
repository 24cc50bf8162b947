"""Where the workers of an operator may be, while nodes come and go."""

import logging
from typing import Any, cast

import pytest
from curator_core import Pipeline, Resources, Task
from curator_core.testing.contract.stages import Adds, Lives
from curator_ray.cluster.nodes import ClusterFacts, NodeChanges, NodeFacts
from curator_ray_data.operators import operators_of
from curator_ray_data.sharing import shares
from curator_ray_data.siting import Lookout, Site

PLAIN = NodeFacts("plain", cpus=2, memory_gb=8)
GPUS = NodeFacts("gpus", cpus=4, gpus=2, memory_gb=8)


class Surveyed:
    """A cluster of which others know when it changes."""

    is_alone = False

    def __init__(self, *nodes: NodeFacts) -> None:
        self.facts = ClusterFacts(nodes)
        self.looks = 0

    def changes(self) -> NodeChanges:
        self.looks += 1
        return NodeChanges(left=(NodeFacts("gone"),))


class Told:
    """As much of a run as is told of nodes."""

    def __init__(self, *stages: Any) -> None:
        self.worker_stages = Pipeline("p", stages=list(stages)).build(tasks=[Task(1)]).stages
        self.events = self
        self.said: list[str] = []

    def emit(self, kind: str, **facts: str) -> None:
        self.said.append(kind)


def site_on(surveyed: Surveyed, stage: Any) -> Site:
    [operator] = operators_of(Pipeline("p", stages=[stage]).build(tasks=[Task(1)]).stages)
    [share] = shares([operator], surveyed.facts)
    return Site(operator, share, cast(Any, surveyed))


def test_it_keeps_off_nodes_with_gpus_as_long_as_there_are_others() -> None:
    surveyed = Surveyed(PLAIN, GPUS)
    site = site_on(surveyed, Lives("log"))

    assert site.options() == {"label_selector": {"ray.io/node-id": "!in(gpus)"}}
    assert (site.most, site.is_lost) == (2, False)

    surveyed.facts = ClusterFacts((PLAIN, NodeFacts("joined", cpus=3, memory_gb=8), GPUS))
    assert site.most == 5

    surveyed.facts = ClusterFacts((PLAIN,))
    assert not site.is_lost
    surveyed.facts = ClusterFacts((GPUS,))
    assert site.is_lost
    assert site.options() == {}


def test_where_nobody_was_kept_off_nobody_is_lost() -> None:
    surveyed = Surveyed(PLAIN, GPUS)
    site = site_on(surveyed, Adds(1).with_(resources=Resources(gpus=1)))

    assert site.options() == {}
    surveyed.facts = ClusterFacts((GPUS,))
    assert not site.is_lost


def test_what_no_node_can_hold_any_more_is_told(caplog: pytest.LogCaptureFixture) -> None:
    surveyed = Surveyed(PLAIN)
    gpu = Adds(1).with_(name="gpu", resources=Resources(gpus=1))
    run = Told(Adds(1).with_(name="plain"), gpu)
    lookout = Lookout(cast(Any, run), cast(Any, surveyed))

    with caplog.at_level(logging.WARNING):
        lookout.look()
        lookout.look()  # not again so soon

    assert (run.said, surveyed.looks) == (["node_left"], 1)
    [record] = caplog.records
    assert "no node has what stage 'gpu' needs now" in record.getMessage()


def test_a_cluster_of_its_own_is_not_looked_at() -> None:
    surveyed = Surveyed(PLAIN)
    surveyed.is_exclusive = True
    assert not Lookout(cast(Any, Told(Adds(1))), cast(Any, surveyed)).look()
    assert surveyed.looks == 0
