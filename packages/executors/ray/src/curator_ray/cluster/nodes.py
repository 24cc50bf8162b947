"""The nodes of a cluster, and what each of them has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

GPU_MEMORY_LABEL = "curator.gpu-memory-gb"
"""A node's label with the memory of each of its GPUs, for nodes without nvidia-smi."""

NODE_ID_LABEL = "ray.io/node-id"
ACCELERATOR_LABEL = "ray.io/accelerator-type"
_ACCELERATOR_RESOURCE = "accelerator_type:"

_KNOWN = ("CPU", "GPU", "memory", "object_store_memory")
_INTERNAL = ("node:", _ACCELERATOR_RESOURCE, "bundle_group", "CPU_group", "GPU_group")


@dataclass(frozen=True)
class NodeFacts:
    """What one node has in total, whether it is busy or not."""

    node_id: str
    address: str = ""
    cpus: float = 0.0
    gpus: float = 0.0
    memory_gb: float = 0.0
    object_store_gb: float = 0.0
    custom: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    gpu_memory_gb: float | None = None
    """The memory of its smallest GPU, if known."""

    accelerator: str = ""
    """The type of its GPUs as Ray names it, such as "H100", if known."""

    @property
    def name(self) -> str:
        """Its name in messages. Several nodes on one machine have the same address."""
        return f"{self.address} ({self.node_id[:8]})"


@dataclass(frozen=True)
class ClusterFacts:
    """All living nodes at one moment."""

    nodes: tuple[NodeFacts, ...]

    @property
    def cpus(self) -> float:
        return sum(node.cpus for node in self.nodes)

    @property
    def gpus(self) -> float:
        return sum(node.gpus for node in self.nodes)

    @property
    def spans_machines(self) -> bool:
        """Whether it has nodes on more than one machine."""
        return len({node.address for node in self.nodes}) > 1

    def node(self, node_id: str) -> NodeFacts | None:
        return next((node for node in self.nodes if node.node_id == node_id), None)

    def describe(self) -> str:
        """Describe the cluster in one line, with equal nodes counted together."""
        kinds: dict[str, int] = {}
        for node in self.nodes:
            kind = describe_node(node)
            kinds[kind] = kinds.get(kind, 0) + 1
        return "; ".join(
            f"{count} nodes with {kind}" if count > 1 else f"1 node with {kind}"
            for kind, count in kinds.items()
        )


def describe_node(node: NodeFacts) -> str:
    parts = [f"{node.cpus:g} CPU", f"{node.memory_gb:.0f} GB of memory"]
    if node.gpus:
        kind = f" {node.accelerator}" if node.accelerator else ""
        size = f" of {node.gpu_memory_gb:.0f} GB" if node.gpu_memory_gb else ""
        parts.append(f"{node.gpus:g}{kind} GPU{size}")
    parts += [f"{amount:g} {name}" for name, amount in sorted(node.custom.items())]
    return ", ".join(parts)


@dataclass(frozen=True)
class NodeChanges:
    """The nodes that joined and left a cluster."""

    joined: tuple[NodeFacts, ...] = ()
    left: tuple[NodeFacts, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.joined or self.left)


class ClusterMonitor:
    """Compares the cluster with its previous state. A call takes about a millisecond."""

    def __init__(self, gpu_memory_gb: Mapping[str, float] | None = None) -> None:
        self._gpu_memory_gb = dict(gpu_memory_gb or {})
        self.facts = self._read()

    def set_gpu_memory(self, gpu_memory_gb: Mapping[str, float]) -> None:
        """Record the GPU memory that nodes reported.

        Nodes that join or die while others are asked must not slip into `facts` here: `changes`
        would never report them.
        """
        self._gpu_memory_gb.update(gpu_memory_gb)
        nodes = self.facts.nodes
        self.facts = ClusterFacts(tuple(self._with_gpu_memory(node) for node in nodes))

    def _with_gpu_memory(self, node: NodeFacts) -> NodeFacts:
        reported = self._gpu_memory_gb.get(node.node_id)
        return replace(node, gpu_memory_gb=_gpu_memory_label(node.labels) or reported)

    def changes(self) -> NodeChanges:
        """Return what changed since the previous call, and bring `facts` up to date."""
        before = {node.node_id: node for node in self.facts.nodes}
        self.facts = self._read()
        now = {node.node_id for node in self.facts.nodes}
        return NodeChanges(
            joined=tuple(node for node in self.facts.nodes if node.node_id not in before),
            left=tuple(node for key, node in before.items() if key not in now),
        )

    def _read(self) -> ClusterFacts:
        import ray

        nodes = ray.nodes()  # type: ignore[no-untyped-call]
        return cluster_facts(nodes, self._gpu_memory_gb)


def current_cluster() -> ClusterFacts:
    """Return the cluster that this process is connected to, as it is now."""
    return ClusterMonitor().facts


def cluster_facts(
    nodes: Iterable[Mapping[str, Any]], gpu_memory_gb: Mapping[str, float] | None = None
) -> ClusterFacts:
    """Make facts from what `ray.nodes()` returns."""
    known = gpu_memory_gb or {}
    alive = [node for node in nodes if node["Alive"]]
    return ClusterFacts(tuple(_node_facts(node, known.get(node["NodeID"])) for node in alive))


def _node_facts(node: Mapping[str, Any], gpu_memory_gb: float | None) -> NodeFacts:
    has = node.get("Resources", {})
    labels = node.get("Labels", {})
    custom = {k: v for k, v in has.items() if k not in _KNOWN and not k.startswith(_INTERNAL)}
    return NodeFacts(
        node_id=node["NodeID"],
        address=node.get("NodeManagerAddress", ""),
        cpus=has.get("CPU", 0.0),
        gpus=has.get("GPU", 0.0),
        memory_gb=has.get("memory", 0.0) / 1e9,
        object_store_gb=has.get("object_store_memory", 0.0) / 1e9,
        custom=custom,
        labels=labels,
        gpu_memory_gb=_gpu_memory_label(labels) or gpu_memory_gb,
        accelerator=_accelerator(has, labels),
    )


def _accelerator(resources: Mapping[str, float], labels: Mapping[str, str]) -> str:
    """Return the type that Ray or the user has set as a label, or that Ray has detected."""
    detected = (name for name in resources if name.startswith(_ACCELERATOR_RESOURCE))
    default = next(detected, "").removeprefix(_ACCELERATOR_RESOURCE)
    return labels.get(ACCELERATOR_LABEL, default)


def _gpu_memory_label(labels: Mapping[str, str]) -> float | None:
    try:
        return float(labels[GPU_MEMORY_LABEL])
    except (KeyError, ValueError):
        return None
