"""Components: which nodes hang together by edges, in memory."""

import numpy as np
import numpy.typing as npt

from curator_dedup.engines import is_compiled

Nodes = npt.NDArray[np.int64]


def components(count: int, sources: Nodes, targets: Nodes) -> Nodes:
    """For each node, from 0 on, the smallest node that it hangs together with."""
    if not is_compiled():
        return _hooked(np.arange(count), sources, targets)
    from curator_dedup.compiled.kernels import join

    parents = np.arange(count)
    join(parents, np.ascontiguousarray(sources), np.ascontiguousarray(targets))
    return parents


def _hooked(parents: Nodes, sources: Nodes, targets: Nodes) -> Nodes:
    """Roots are hooked to smaller ones that an edge leads to, until no edge joins two roots.

    Where several edges compete for a root any of them may win; the others are seen next time.
    """
    while len(sources):
        ones, others = parents[sources], parents[targets]
        apart = ones != others
        sources, targets = ones[apart], others[apart]
        parents[np.maximum(sources, targets)] = np.minimum(sources, targets)
        parents = _flattened(parents)
    return parents


def _flattened(parents: Nodes) -> Nodes:
    """Every node hung from its root."""
    while True:
        above = parents[parents]
        if np.array_equal(above, parents):
            return parents
        parents = above
