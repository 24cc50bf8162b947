"""Node usage: read memory and GPU figures of the machines that a run uses."""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from curator_core.model.node_usage import NodeUsage, ThisMachine, read_node_usage

from curator_ray.cluster.nodes import ClusterFacts

LOG = logging.getLogger("curator_core")

INTERVAL_S = 10.0
_POLL_S = 1.0
_JOIN_TIMEOUT_S = 15.0


class NodeAgent:
    """An actor that reads the usage of its node."""

    def read(self) -> NodeUsage:
        return read_node_usage()


class NodeUsageMonitor:
    """Knows the usage of this machine, and of the other machines on which a run has workers.

    Those have agents, which are asked in a thread: they may answer slowly. An agent ends when the
    run has no workers there, because an autoscaler does not remove a node with an actor.
    """

    def __init__(
        self,
        cluster: Callable[[], ClusterFacts],
        used_nodes: Callable[[], Iterable[str]],
        interval_s: float = INTERVAL_S,
    ) -> None:
        """`used_nodes` returns the ids of the nodes with workers."""
        import ray

        here = cluster().node(ray.get_runtime_context().get_node_id())
        self._own_address = here.address if here else ""
        self._this_machine = ThisMachine(self._own_address)
        self._cluster = cluster
        self._used_nodes = used_nodes
        self._interval_s = interval_s
        self._others: Mapping[str, NodeUsage] = {}
        self._agents: dict[str, Any] = {}
        self._asked: dict[Any, str] = {}
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="curator-nodes", daemon=True)

    def latest(self) -> Mapping[str, NodeUsage]:
        """Return the usage by the address of the machine."""
        return {**self._this_machine(), **self._others}

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """End the agents. The thread must not use Ray after it was shut down."""
        self._is_closed.set()
        if self._thread.ident is not None:
            self._thread.join(_JOIN_TIMEOUT_S)

    def _watch(self) -> None:
        try:
            ask_at = time.monotonic() + self._interval_s
            while not self._is_closed.wait(min(_POLL_S, self._interval_s)):
                self._collect()
                if time.monotonic() >= ask_at:
                    ask_at += self._interval_s
                    self._ask()
        except Exception:
            LOG.debug("the usage of nodes could not be read", exc_info=True)
        finally:
            self._end_agents(self._agents.copy())

    def _ask(self) -> None:
        nodes = self._other_machines()
        self._end_agents(self._agents.keys() - nodes.keys())
        self._others = {a: usage for a, usage in self._others.items() if a in nodes}
        self._asked = {ref: address for ref, address in self._asked.items() if address in nodes}
        for address, node_id in nodes.items():
            if address not in self._agents:
                self._agents[address] = _start_agent(node_id)
            if address not in self._asked.values():
                self._asked[self._agents[address].read.remote()] = address

    def _collect(self) -> None:
        import ray

        refs = list(self._asked)
        ready, _ = ray.wait(refs, num_returns=len(refs), timeout=0) if refs else ([], [])
        others = dict(self._others)
        for ref in ready:
            address = self._asked.pop(ref)
            try:
                others[address] = ray.get(ref)
            except ray.exceptions.RayError:  # the agent was ended, or the node died
                self._agents.pop(address, None)
                others.pop(address, None)
        self._others = others

    def _other_machines(self) -> dict[str, str]:
        """Return a node with workers of each other machine, by address."""
        cluster = self._cluster()
        found = filter(None, map(cluster.node, self._used_nodes()))
        return {n.address: n.node_id for n in found if n.address != self._own_address}

    def _end_agents(self, addresses: Iterable[str]) -> None:
        import ray

        for address in addresses:
            ray.kill(self._agents.pop(address))


def _start_agent(node_id: str) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
    actor: Any = ray.remote(num_cpus=0, max_restarts=0)(NodeAgent)
    return actor.options(scheduling_strategy=strategy).remote()
