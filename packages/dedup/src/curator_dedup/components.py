"""Connected components in memory.

Operations on whole arrays are as fast as a compiled union-find that visits one edge at a time.
"""

import numpy as np
import numpy.typing as npt

Nodes = npt.NDArray[np.integer]

_SMALL = 1 << 31
"""Up to this many nodes, 32-bit numbers suffice and take half the time."""


def components(count: int, sources: Nodes, targets: Nodes) -> Nodes:
    """Return for each node (numbered from 0) the smallest node of its component.

    Each root is attached to a smaller root that shares an edge with it, until no edge joins two
    roots. If several edges compete for a root, any may win; the others are handled in the next
    round.
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
    """Point every node directly at its root."""
    while True:
        above = parents[parents]
        if np.array_equal(above, parents):
            return parents
        parents = above
