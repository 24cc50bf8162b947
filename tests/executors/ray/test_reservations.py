"""Reservations ask for less of a node that other jobs use."""

import logging
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from curator_ray import compat, reservations
from curator_ray.cluster.nodes import NodeFacts
from curator_ray.reservations import Reservations

NODE = NodeFacts("n" * 56, "10.0.0.1", cpus=16)


@dataclass
class Cluster:
    """Grants a placement group if the CPUs are free, and has a clock of its own."""

    free: float
    now: float = 0.0
    asked: list[float] = field(default_factory=list)
    reports_free_cpus: bool = True

    def create(self, node: NodeFacts, cpus: float) -> float:
        self.asked.append(cpus)
        return cpus

    def is_created(self, group: float) -> bool:
        return group <= self.free

    def free_cpus(self, node: NodeFacts) -> float | None:
        return self.free if self.reports_free_cpus else None

    def wait_for(self, held: Reservations, seconds: float) -> list[tuple[NodeFacts, float]]:
        granted: list[tuple[NodeFacts, float]] = []
        until = self.now + seconds
        while not granted and self.now < until:
            self.now += 0.1
            granted = held.granted()
        return granted


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster(free=16)
    monkeypatch.setattr(reservations, "time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr(reservations, "_create", made.create)
    monkeypatch.setattr(reservations, "_is_created", made.is_created)
    monkeypatch.setattr(reservations, "_remove", lambda group: None)
    monkeypatch.setattr(reservations, "_free_cpus", made.free_cpus)
    return made


def reserved(**options: bool) -> Reservations:
    held = Reservations(lambda node: node.cpus, is_exclusive=options.get("is_exclusive", False))
    held.request(NODE)
    return held


def test_an_idle_node_is_granted_as_a_whole(cluster: Cluster) -> None:
    assert cluster.wait_for(reserved(), 1) == [(NODE, 16)]


def test_nothing_is_reserved_in_a_cluster_of_our_own(cluster: Cluster) -> None:
    assert cluster.wait_for(reserved(is_exclusive=True), 1) == [(NODE, 16)]
    assert not cluster.asked


def test_free_cpus_are_requested(cluster: Cluster) -> None:
    cluster.free = 5
    assert cluster.wait_for(reserved(), 5) == [(NODE, 5)]
    assert cluster.asked == [16, 5]


def test_half_as_many_are_requested_if_ray_does_not_report_free_cpus(cluster: Cluster) -> None:
    cluster.free, cluster.reports_free_cpus = 5, False
    assert cluster.wait_for(reserved(), 10) == [(NODE, 4)]
    assert cluster.asked == [16, 8, 4]


@pytest.mark.parametrize("reports_free_cpus", [True, False])
def test_a_full_node_is_reported(
    cluster: Cluster, reports_free_cpus: bool, caplog: pytest.LogCaptureFixture
) -> None:
    cluster.free, cluster.reports_free_cpus = 0, reports_free_cpus
    with caplog.at_level(logging.WARNING):
        assert cluster.wait_for(reserved(), 20) == []
    [record] = caplog.records
    assert NODE.name in record.getMessage()
    assert ("0 of 16 are free" in record.getMessage()) is reports_free_cpus


def test_an_untested_ray_does_not_report_free_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray")
    monkeypatch.setattr(compat, "installed_version", lambda: "9.9.0")
    assert reservations._free_cpus(NODE) is None
