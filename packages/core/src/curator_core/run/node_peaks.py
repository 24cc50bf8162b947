"""Node peaks: the most memory that each node used in a run, and a warning for each full GPU."""

from collections.abc import Mapping

from curator_core.logs import log
from curator_core.model.formatting import share, size
from curator_core.model.node_usage import GpuUsage, NodeUsage
from curator_core.run.result import RunResult

LOG = log()

FULL_GPU = 0.9
"""From this share of its memory on, the next allocation on a GPU may fail."""


class NodePeaks:
    """Adds the figures of all nodes to the result."""

    def __init__(self, result: RunResult) -> None:
        self.latest: Mapping[str, NodeUsage] = {}
        self._has_nodes = False
        self._result = result
        self._warned: set[tuple[str, int]] = set()

    def add_driver(self, machine: Mapping[str, NodeUsage]) -> None:
        """Add the machine of the driver, which stands for all until the executor reports nodes."""
        if not self._has_nodes:
            self._add(machine)

    def add(self, nodes: Mapping[str, NodeUsage]) -> None:
        if not self._has_nodes:
            self._has_nodes = True
            self._result.nodes.clear()
        self._add(nodes)

    def _add(self, nodes: Mapping[str, NodeUsage]) -> None:
        self.latest = nodes
        peaks = self._result.nodes
        for name, usage in nodes.items():
            peaks[name] = peaks[name].peak(usage) if name in peaks else usage
            for index, gpu in enumerate(usage.gpus):
                if gpu.memory_share > FULL_GPU and (name, index) not in self._warned:
                    self._warned.add((name, index))
                    self._warn(name, index, gpu)

    def _warn(self, node: str, index: int, gpu: GpuUsage) -> None:
        text = (
            f"GPU {index} of node {node} has {share(gpu.used_bytes, gpu.total_bytes)} of its "
            f"{size(gpu.total_bytes)} of memory in use, and may run out of it; use smaller "
            "batches, or more gpu_memory_gb for its stages"
        )
        LOG.warning("%s", text)
        self._result.notes.append(text)
