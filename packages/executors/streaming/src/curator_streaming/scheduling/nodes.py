"""Nodes: what is free on each, and which workers fit there."""

from collections.abc import Iterable
from dataclasses import replace

from curator_streaming.scheduling.needs import UNIT, Capacity, Grant, Need, Share, offered
from curator_streaming.scheduling.workers import Worker


class Node:
    """One machine. CPUs are taken by calls under way, all else by living workers."""

    __slots__ = (
        "capacity", "cpus", "cpus_promised", "custom", "device_memory", "devices", "fits",
        "free_cpus", "memory", "name", "pressing", "shared", "shuns", "slots", "waiting",
    )  # fmt: skip

    def __init__(self, name: str, capacity: Capacity) -> None:
        self.name = name
        self.capacity = capacity
        self.cpus = self.free_cpus = offered(capacity.cpus)
        self.cpus_promised = 0
        self.memory = capacity.memory
        self.devices = {device.index: UNIT for device in capacity.devices}
        self.device_memory = {device.index: device.memory for device in capacity.devices}
        self.custom = {name: offered(n) for name, n in (capacity.custom or {}).items()}
        self.shared = 0
        self.slots = 0
        self.fits = 0
        """The shared steps that this node could run, as bits."""

        self.shuns = 0
        """The steps that did not come up here, and are not to be tried again yet."""

        self.pressing: dict[Worker, None] = {}
        self.waiting: dict[Worker, None] = {}
        """Workers that wait for CPUs; while one is pressing, shared workers make way."""

    def place(self, need: Need) -> Grant | None:
        """What a worker with this need would get here, or None where it does not fit."""
        if need.memory > self.memory:
            return None
        if any(self.custom.get(name, 0) < amount for name, amount in need.custom):
            return None
        shares: tuple[Share, ...] | None = ()
        if need.gpus or need.gpu_memory:
            shares = self._shares(need)
        elif not need.custom and self.cpus_promised + need.cpus > self.cpus:
            return None
        return None if shares is None else Grant(need.memory, shares, need.custom)

    def take(self, grant: Grant, cpus: int = 0) -> None:
        self._change(grant, -1)
        self.cpus_promised += cpus

    def give_back(self, grant: Grant, cpus: int = 0) -> None:
        self._change(grant, +1)
        self.cpus_promised -= cpus

    def copy(self) -> "Node":
        """An empty node of the same capacity, to try things out on."""
        return Node(self.name, self.capacity)

    def units_on(self, need: Need, device: str) -> int:
        """The share of this very device that the need asks for; more than all: it never fits."""
        if not need.gpu_memory:
            return min(need.gpus, UNIT)
        there = self.device_memory[device]
        if need.gpu_memory > there:
            return UNIT + 1
        return max(1, -(-need.gpu_memory * UNIT // there))

    def _change(self, grant: Grant, sign: int) -> None:
        self.memory += sign * grant.memory
        for share in grant.shares:
            self.devices[share.device] += sign * share.units
        for name, amount in grant.custom:
            self.custom[name] += sign * amount

    def _shares(self, need: Need) -> tuple[Share, ...] | None:
        if need.gpus >= UNIT:
            whole = -(-need.gpus // UNIT)
            free = [device for device, units in self.devices.items() if units == UNIT]
            return (
                tuple(Share(device, UNIT) for device in free[:whole])
                if whole <= len(free)
                else None
            )
        fitting = [
            (units - wanted, device, wanted)
            for device, units in self.devices.items()
            if (wanted := self.units_on(need, device)) <= units
        ]
        if not fitting:
            return None
        _, device, wanted = min(fitting)  # the fullest that still fits: others stay whole
        return (Share(device, wanted),)


def placed(nodes: Iterable[Node], need: Need) -> tuple[Node, Grant] | None:
    """The first node with room; a fraction of a GPU goes where one is already in use."""
    best: tuple[int, Node, Grant] | None = None
    for node in nodes:
        grant = node.place(need)
        if grant is None:
            continue
        if not grant.shares or grant.shares[0].units == UNIT:
            return node, grant
        left = node.devices[grant.shares[0].device] - grant.shares[0].units
        if best is None or left < best[0]:
            best = (left, node, grant)
        if left == 0:
            break
    return None if best is None else (best[1], best[2])


def without_cpus(need: Need) -> Need:
    """The same need where CPUs are shared in turns, however many workers there are."""
    return replace(need, cpus=0)
