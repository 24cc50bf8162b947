"""Connected components of a random graph, edges per CPU-second: {curator|scipy} EDGES."""

import json
import sys
import time

import numpy as np

who, edges = sys.argv[1], int(sys.argv[2])
dice = np.random.default_rng(0)
sources = dice.integers(0, edges, edges)
targets = np.minimum(edges - 1, sources + dice.integers(1, 50, edges))


def by_scipy() -> int:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ones = np.ones(edges, np.int8)
    graph = coo_matrix((ones, (sources, targets)), shape=(edges, edges))
    return int(connected_components(graph, directed=False)[0])


def by_us() -> int:
    from curator_dedup.passes.group import connected_components

    return int((connected_components(edges, sources, targets) == np.arange(edges)).sum())


def timed() -> tuple[float, int]:
    started = time.process_time()
    number = (by_scipy if who == "scipy" else by_us)()
    return time.process_time() - started, number


if __name__ == "__main__":
    timed()  # what must be imported first
    seconds, number = timed()
    print(json.dumps({"cpu_s": seconds, "components": number}))
