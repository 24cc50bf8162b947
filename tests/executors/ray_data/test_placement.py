"""Where the workers of an operator may be, while nodes join and leave."""

import logging
from typing import Any, cast

import pytest
from curator_core import Pipeline, Resources, Task
from curator_core.testing.contract.stages import Adds, Lives
from curator_ray.cluster.nodes import ClusterFacts, NodeChanges, NodeFacts
from curator_ray_data.placement import NodeWatch, Placement
from curator_ray_data.plan import operators_of

PLAIN = NodeFacts("plain", cpus=2, memory_gb=8)
GPUS = NodeFacts("gpus", cpus=4, gpus=2, memory_gb=8)


class FakeSurvey:
    """A cluster that a node has just left."""

    is_exclusive = False

    def __init__(self, *nodes: NodeFacts) -> None:
        self.facts = ClusterFacts(nodes)
        self.polls = 0

    def changes(self) -> NodeChanges:
        self.polls += 1
        return NodeChanges(left=(NodeFacts("lost"),))


class FakeRun:
    """The part of a run that a `NodeWatch` needs."""

    def __init__(self, *stages: Any) -> None:
        self.worker_stages = Pipeline("p", stages=list(stages)).build(tasks=[Task(1)]).stages
        self.events = self
        self.emitted: list[str] = []

    def emit(self, kind: str, **facts: str) -> None:
        self.emitted.append(kind)


def placement_of(survey: FakeSurvey, stage: Any) -> Placement:
    [operator] = operators_of(Pipeline("p", stages=[stage]).build(tasks=[Task(1)]).stages)
    return Placement(operator, cast(Any, survey))


def test_stays_off_gpu_nodes_as_long_as_there_are_others() -> None:
    survey = FakeSurvey(PLAIN, GPUS)
    placement = placement_of(survey, Lives("log"))

    assert placement.options() == {"label_selector": {"ray.io/node-id": "!in(gpus)"}}
    assert not placement.is_lost

    survey.facts = ClusterFacts((PLAIN,))
    assert not placement.is_lost
    survey.facts = ClusterFacts((GPUS,))
    assert placement.is_lost
    assert placement.options() == {}


def test_an_operator_that_was_not_restricted_is_never_lost() -> None:
    survey = FakeSurvey(PLAIN, GPUS)
    placement = placement_of(survey, Adds(1).with_(resources=Resources(gpus=1)))

    assert placement.options() == {}
    survey.facts = ClusterFacts((GPUS,))
    assert not placement.is_lost


def test_a_stage_that_no_node_can_run_any_more_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    survey = FakeSurvey(PLAIN)
    gpu = Adds(1).with_(name="gpu", resources=Resources(gpus=1))
    run = FakeRun(Adds(1).with_(name="plain"), gpu)
    watch = NodeWatch(cast(Any, run), cast(Any, survey))

    with caplog.at_level(logging.WARNING):
        watch.poll()
        watch.poll()  # too soon after the first

    assert (run.emitted, survey.polls) == (["node_left"], 1)
    [record] = caplog.records
    assert "no node has what stage 'gpu' needs now" in record.getMessage()


def test_a_private_cluster_is_not_polled() -> None:
    survey = FakeSurvey(PLAIN)
    survey.is_exclusive = True
    assert not NodeWatch(cast(Any, FakeRun(Adds(1))), cast(Any, survey)).poll()
    assert survey.polls == 0
