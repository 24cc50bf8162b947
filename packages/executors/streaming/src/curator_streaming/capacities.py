"""Capacities: nodes of a Ray cluster in the words of the scheduler."""

from curator_ray.facts import NodeFacts

from curator_streaming.options import StreamingOptions
from curator_streaming.scheduling.needs import GB, Capacity, Device


def capacity_of(node: NodeFacts, options: StreamingOptions) -> Capacity:
    """What of this node is for us."""
    memory = int((node.gpu_memory_gb or 0.0) * GB)
    return Capacity(
        cpus=options.cpus_of(node.cpus),
        memory=int(node.memory_gb * GB),
        devices=tuple(Device(str(index), memory) for index in range(int(node.gpus))),
        custom=dict(node.custom),
    )
