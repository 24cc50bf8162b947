"""Clusters with an autoscaler: whether there is one, what it can bring, and asking it for nodes.

Nodes are requested by placement groups that only a new node can meet. Ray's `request_resources`
would be shorter, but there is only one such request per cluster: runs would overwrite those of
others, and after `kill -9` it would keep its nodes for ever. It also counts what other jobs use as
if it were free. A placement group has none of these problems, and ends with its job.
"""

import json
import logging
import time
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from curator_core import Resources

from curator_ray.cluster.join import is_client_connected
from curator_ray.cluster.nodes import ACCELERATOR_LABEL, NODE_ID_LABEL, NodeFacts, cluster_facts
from curator_ray.compat import (
    AUTOSCALER_STATUS,
    AUTOSCALER_STATUS_KEY,
    CLUSTER_CONFIG,
    INTERNAL_KV,
    UNMANAGED_NODE_TYPE,
)

LOG = logging.getLogger("curator_core")

_CHANGE_EVERY_S = 5.0
_SMALLEST_CPUS = 0.01
"""A request must not be empty."""


@dataclass(frozen=True)
class Autoscaler:
    """An autoscaler that runs on the cluster."""

    types: tuple[NodeFacts, ...] = ()
    """What a node of each type has; empty if that is not known."""


def find_autoscaler() -> Autoscaler | None:
    """Return the autoscaler of the cluster that this process is connected to, if it has one."""
    import ray

    if not ray.is_initialized():
        return None
    if is_client_connected():
        remote = ray.remote(num_cpus=0)(find_autoscaler)
        found: Autoscaler | None = ray.get(remote.remote())
        return found
    return Autoscaler(_read_types()) if _is_managed_v1() or _is_managed_v2() else None


def _is_managed_v1() -> bool:
    """Whether the status names types of nodes, and not only nodes that were started by hand."""
    read = INTERNAL_KV.get()
    if read is None:
        return False
    report = json.loads(read(AUTOSCALER_STATUS_KEY) or "{}").get("autoscaler_report") or {}
    types = {**report.get("active_nodes", {}), **(report.get("idle_nodes") or {})}
    return any(not name.startswith(UNMANAGED_NODE_TYPE) for name in types)


def _is_managed_v2() -> bool:
    """Whether there is a node with the id of a cloud instance, which only autoscalers set."""
    import ray

    read = AUTOSCALER_STATUS.get()
    if read is None:
        return False
    status = read(ray.get_runtime_context().gcs_address)
    return any(node.instance_id for node in [*status.active_nodes, *status.idle_nodes])


def _read_types() -> tuple[NodeFacts, ...]:
    read = CLUSTER_CONFIG.get()
    config = read() if read is not None else None
    groups = config.node_group_configs if config is not None else ()
    return node_types({group.name: dict(group.resources) for group in groups if group.max_count})


def node_types(resources: Mapping[str, Mapping[str, float]]) -> tuple[NodeFacts, ...]:
    """Make facts from the resources of a node of each type."""
    nodes = [
        {"NodeID": name, "Alive": True, "Resources": has, "NodeManagerAddress": name}
        for name, has in resources.items()
    ]
    return cluster_facts(nodes).nodes


@cache
def log_once(message: str) -> None:
    """Log a message that several checks of the same run would repeat."""
    LOG.info(message)


class NodeRequests:
    """Asks the autoscaler for nodes, and follows what is wanted."""

    def __init__(self) -> None:
        self._groups: dict[Resources, list[Any]] = {}
        self._next_change = 0.0

    def drop_met(self) -> None:
        """Withdraw requests that a new node has met, so that workers can use it."""
        if not any(self._groups.values()):
            return
        created = _created()
        for groups in self._groups.values():
            for group in [group for group in groups if _key(group) in created]:
                groups.remove(group)
                _remove(group)

    def update(self, wanted: Mapping[Resources, int], known: Collection[str]) -> None:
        """Request nodes for this many workers of each size, other than the `known` nodes."""
        now = time.monotonic()
        if now < self._next_change or self._counts() == Counter(wanted):
            return
        self._next_change = now + _CHANGE_EVERY_S
        for size in {*self._groups, *wanted}:
            self._resize(size, wanted.get(size, 0), known)

    def withdraw(self) -> None:
        """Withdraw all requests."""
        for size in self._groups:
            self._resize(size, 0, ())

    def _counts(self) -> Counter[Resources]:
        return Counter({size: len(groups) for size, groups in self._groups.items() if groups})

    def _resize(self, size: Resources, count: int, known: Collection[str]) -> None:
        groups = self._groups.setdefault(size, [])
        while len(groups) > count:
            _remove(groups.pop())
        while len(groups) < count:
            groups.append(_create(*_bundle_of(size, known)))


def _bundle_of(size: Resources, known: Collection[str]) -> tuple[dict[str, float], dict[str, str]]:
    """Return what a node must have free for one worker, and the labels it must have."""
    amounts = {
        "CPU": size.cpus,
        "GPU": size.gpus or float(size.needs_gpu),
        "memory": float(int(size.memory_gb * 1e9)),
        **size.custom,
    }
    bundle = {name: amount for name, amount in amounts.items() if amount}
    labels = dict(size.labels)
    if size.accelerator:
        labels[ACCELERATOR_LABEL] = size.accelerator
    if known:
        labels[NODE_ID_LABEL] = f"!in({','.join(sorted(known))})"
    return bundle or {"CPU": _SMALLEST_CPUS}, labels


def _create(bundle: dict[str, float], labels: dict[str, str]) -> Any:
    from ray.util.placement_group import placement_group

    return placement_group([bundle], bundle_label_selector=[labels])


def _created() -> set[str]:
    from ray.util.placement_group import placement_group_table

    table = placement_group_table()
    return {key for key, group in table.items() if group["state"] == "CREATED"}


def _key(group: Any) -> str:
    return str(group.id.hex())


def _remove(group: Any) -> None:
    from ray.util.placement_group import remove_placement_group

    remove_placement_group(group)
