"""Placement: the free resources of nodes, and the node on which to start a worker.

Fixed numbers of workers and whole GPUs are spread over nodes; all others are packed on few of them.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TypeVar

from curator_streaming.scheduler.resources import (
    UNIT,
    Capacity,
    DeviceShare,
    Grant,
    Need,
    units_available,
    units_needed,
)


class NodeResources:
    """Free resources of one node. Workers hold all but CPUs as long as they live."""

    __slots__ = (
        "capacity", "cpus", "cpus_promised", "device_memory", "free_custom", "free_devices",
        "free_memory", "name", "workers_of",
    )  # fmt: skip

    def __init__(self, name: str, capacity: Capacity) -> None:
        self.name = name
        self.capacity = capacity
        self.cpus = units_available(capacity.cpus)
        self.cpus_promised = 0
        """CPUs of dedicated workers that hold nothing else to limit their number."""

        self.free_memory = capacity.memory
        self.free_devices = {device.index: UNIT for device in capacity.devices}
        self.device_memory = {device.index: device.memory for device in capacity.devices}
        self.free_custom = {name: units_available(n) for name, n in (capacity.custom or {}).items()}
        self.workers_of: Counter[int] = Counter()
        """Dedicated workers that are not leaving, by the first stage of their step."""

    def place(self, need: Need) -> Grant | None:
        """Return what a worker with this need would get here, or None if it does not fit."""
        if need.memory > self.free_memory or not has_labels(self.capacity, need):
            return None
        if any(self.free_custom.get(name, 0) < amount for name, amount in need.custom):
            return None
        shares: tuple[DeviceShare, ...] | None = ()
        if need.gpus or need.gpu_memory:
            shares = self._find_devices(need)
        elif not need.custom and self.cpus_promised + need.cpus > self.cpus:
            return None
        return None if shares is None else Grant(need.memory, shares, need.custom)

    def take(self, grant: Grant, cpus: int = 0) -> None:
        self._change(grant, -1)
        self.cpus_promised += cpus

    def give_back(self, grant: Grant, cpus: int = 0) -> None:
        self._change(grant, +1)
        self.cpus_promised -= cpus

    def fill_level(self, count: int, need: Need) -> float:
        """Return this number of workers relative to the size of the node."""
        size = len(self.free_devices) if need.gpus or need.gpu_memory else self.cpus
        return count / (size or 1)

    def empty_copy(self) -> "NodeResources":
        return NodeResources(self.name, self.capacity)

    def copy(self) -> "NodeResources":
        copied = self.empty_copy()
        copied.free_memory, copied.free_devices = self.free_memory, dict(self.free_devices)
        copied.free_custom, copied.cpus_promised = dict(self.free_custom), self.cpus_promised
        return copied

    def _change(self, grant: Grant, sign: int) -> None:
        self.free_memory += sign * grant.memory
        for share in grant.shares:
            self.free_devices[share.device] += sign * share.units
        for name, amount in grant.custom:
            self.free_custom[name] += sign * amount

    def _find_devices(self, need: Need) -> tuple[DeviceShare, ...] | None:
        if need.gpus >= UNIT:
            count = -(-need.gpus // UNIT)
            free = [device for device, units in self.free_devices.items() if units == UNIT]
            if count > len(free):
                return None
            return tuple(DeviceShare(device, UNIT) for device in free[:count])
        fitting = [
            (units - wanted, device, wanted)
            for device, units in self.free_devices.items()
            if (wanted := self._units_on(need, device)) <= units
        ]
        if not fitting:
            return None
        _, device, wanted = min(fitting)  # the fullest that still fits, so that others stay whole
        return (DeviceShare(device, wanted),)

    def _units_on(self, need: Need, device: str) -> int:
        """Return the share of this device that the need takes; more than UNIT if it never fits."""
        if not need.gpu_memory:
            return min(need.gpus, UNIT)
        memory = self.device_memory[device]
        if need.gpu_memory > memory:
            return UNIT + 1
        return max(1, -(-need.gpu_memory * UNIT // memory))


AnyNode = TypeVar("AnyNode", bound=NodeResources)


def find_node(nodes: Iterable[AnyNode], need: Need) -> tuple[AnyNode, Grant] | None:
    """Return the first node with room; a fraction of a GPU goes to the fullest device."""
    best: tuple[int, AnyNode, Grant] | None = None
    for node in nodes:
        grant = node.place(need)
        if grant is None:
            continue
        if not grant.shares or grant.shares[0].units == UNIT:
            return node, grant
        left = node.free_devices[grant.shares[0].device] - grant.shares[0].units
        if best is None or left < best[0]:
            best = (left, node, grant)
        if left == 0:
            break
    return None if best is None else (best[1], best[2])


def find_least_filled(
    nodes: Iterable[AnyNode], need: Need, first: int
) -> tuple[AnyNode, Grant] | None:
    """Return the node with room that has the fewest workers of this step for its size.

    Used for fixed numbers of workers and for whole GPUs.
    """
    for node in sorted(
        nodes, key=lambda n: (n.fill_level(n.workers_of[first], need), n.workers_of.total())
    ):
        grant = node.place(need)
        if grant is not None:
            return node, grant
    return None


def has_labels(capacity: Capacity, need: Need) -> bool:
    """Whether a node has the type of GPU and the labels that are asked for."""
    if need.accelerator and need.accelerator != capacity.accelerator:
        return False
    labels = capacity.labels or {}
    return all(labels.get(name) == value for name, value in need.labels)


def can_hold(capacity: Capacity, need: Need) -> bool:
    """Whether an empty node of this capacity has room for one worker."""
    if not has_labels(capacity, need):
        return False
    custom = {name: units_available(amount) for name, amount in (capacity.custom or {}).items()}
    return (
        need.cpus <= units_needed(capacity.cpus)
        and need.memory <= capacity.memory
        and _has_devices(capacity, need)
        and all(custom.get(name, 0) >= amount for name, amount in need.custom)
    )


def without_cpus(need: Need) -> Need:
    """Return the need of a worker that takes turns on the CPUs with any number of others."""
    return replace(need, cpus=0)


def _has_devices(capacity: Capacity, need: Need) -> bool:
    if need.gpu_memory:
        return any(device.memory >= need.gpu_memory for device in capacity.devices)
    return -(-need.gpus // UNIT) <= len(capacity.devices)
