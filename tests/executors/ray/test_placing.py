"""On which nodes a stage may run."""

from curator_core.model.resources import Resources
from curator_ray.facts import NodeFacts
from curator_ray.placing import kept_off, may_hold

PLAIN, SMALL = NodeFacts("plain", cpus=4), NodeFacts("small", cpus=1)
GPUS = NodeFacts("gpus", cpus=16, gpus=8)


def cpus(number: float, gpus: float = 0) -> Resources:
    return Resources(cpus=number, gpus=gpus)


def test_cpu_stages_stay_off_nodes_with_gpus_if_others_can_hold_them() -> None:
    nodes = [PLAIN, SMALL, GPUS]

    assert may_hold(cpus(1), nodes, {"gpus"}) == ["plain", "small"]
    assert may_hold(cpus(8), nodes, {"gpus"}) == ["gpus"]
    assert may_hold(cpus(1, gpus=2), nodes, {"gpus"}) == ["gpus"]
    assert may_hold(cpus(1), nodes[2:], {"gpus"}) == ["gpus"]
    assert may_hold(cpus(32), nodes, {"gpus"}) == []


def test_cpu_stages_wait_a_moment_for_nodes_that_are_about_to_be_theirs() -> None:
    more = NodeFacts("more", cpus=4, gpus=1)

    assert may_hold(cpus(1), [GPUS], {"gpus"}, [PLAIN]) == []
    assert may_hold(cpus(8), [GPUS], {"gpus"}, [PLAIN]) == ["gpus"]
    assert may_hold(cpus(1), [GPUS], {"gpus", "more"}, [more]) == ["gpus"]
    assert may_hold(cpus(1, gpus=1), [GPUS], {"gpus"}, [PLAIN]) == ["gpus"]


def test_what_they_are_kept_off() -> None:
    assert kept_off(cpus(1), [PLAIN, GPUS]) == ["gpus"]
    assert kept_off(cpus(8), [PLAIN, GPUS]) == []  # no other node holds it
    assert kept_off(cpus(1, gpus=1), [PLAIN, GPUS]) == []
    assert kept_off(cpus(1), [GPUS]) == []
    assert kept_off(cpus(1), [PLAIN, SMALL]) == []
