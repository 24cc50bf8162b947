"""Surveying a cluster at the start of a run, and those of its nodes that join later."""

from collections.abc import Iterable

from curator_ray.connecting import Connection
from curator_ray.facts import Changes, ClusterFacts, ClusterWatch, NodeFacts
from curator_ray.probing import look_around
from curator_ray.versions import examine

_EXAMINED: dict[str, float] = {}
"""Nodes that this process has asked before, and the memory of their GPUs (0 where unknown)."""


class Survey:
    """What is known of the cluster that this process is connected to.

    Every node is asked once for its versions (an error where they do not fit) and its GPUs; a
    private cluster runs what we run, so it is not asked.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._watch = ClusterWatch(_EXAMINED)
        self._examine(self.facts.nodes)

    @property
    def facts(self) -> ClusterFacts:
        return self._watch.facts

    @property
    def is_far(self) -> bool:
        """Whether workers may be on machines that do not have our files."""
        return self.facts.is_spread

    @property
    def is_alone(self) -> bool:
        """Whether nobody else uses this cluster."""
        return self._connection.kind == "private"

    def changes(self) -> Changes:
        """Which nodes joined and left since the last time; those that joined are asked first."""
        changes = self._watch.changes()
        self._examine(changes.joined)
        joined = tuple(self.facts.node(node.node_id) or node for node in changes.joined)
        return Changes(joined, changes.left)

    def _examine(self, nodes: Iterable[NodeFacts]) -> None:
        new = [node for node in nodes if node.node_id not in _EXAMINED]
        if not new:
            return
        if self._connection.kind == "private":
            memory = {}
            if any(node.gpus for node in new) and (found := look_around(())["gpu_memory_gb"]):
                memory = {node.node_id: min(found) for node in new}
        else:
            memory = examine(self.facts, new)
        _EXAMINED.update({node.node_id: memory.get(node.node_id, 0.0) for node in new})
        self._watch.learn(memory)
