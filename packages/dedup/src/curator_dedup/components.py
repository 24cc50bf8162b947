"""Components: which nodes hang together by edges, in memory.

Whole arrays at a time take as long as a compiled union-find that looks at one edge after another.
"""

import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.integer]

_SMALL = 1 << 31
"""Fewer nodes than that have short numbers, which take half the time."""


def components(count: int, sources: Nodes, targets: Nodes) -> Nodes:
    """For each node, from 0 on, the smallest node that it hangs together with.

    Roots are hooked to smaller ones that an edge leads to, until no edge joins two roots. Where
    several edges compete for a root any of them may win; the others are seen next time.
    """
    kind = np.int32 if count < _SMALL else np.int64
    parents: Nodes = np.arange(count, dtype=kind)
    ones, others = sources.astype(kind), targets.astype(kind)
    while len(ones):
        parents[np.maximum(ones, others)] = np.minimum(ones, others)
        parents = _flattened(parents)
        ones, others = parents[ones], parents[others]
        apart = np.flatnonzero(ones != others)
        ones, others = ones[apart], others[apart]
    return parents


def _flattened(parents: Nodes) -> Nodes:
    """Every node hung from its root."""
    while True:
        above = parents[parents]
        if np.array_equal(above, parents):
            return parents
        parents = above
