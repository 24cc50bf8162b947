"""Compares the vectors of each cluster that `SemanticDeduplicationWorkflow` has assigned.

    WHO ASSIGNMENTS PARTITIONS EPS OUT

WHO is curator, or numpy: the whole matrix of all pairs of a cluster at a time. Both read the same
files and say how many stay, and a digest of which.
"""

import hashlib
import json
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

who, assignments, partitions, eps, out = sys.argv[1:6]
ROUNDING = 1e-6


def with_curator() -> set[tuple[str, int]]:
    from curator_core import LocalExecutor, Pipeline
    from curator_core.io.shuffle import ExchangeListing, ExchangeWriter
    from curator_dedup.semantic.compare import ClusterComparing

    number = int(partitions)
    stages = [
        ExchangeListing(assignments, number),
        ClusterComparing(number, float(eps)),
        ExchangeWriter(f"{out}/decisions", key="block", partitions=number),
    ]
    Pipeline("compare", stages=stages).run(LocalExecutor(workers=0), run_dir=f"{out}/run")
    found = pq.ParquetDataset(f"{out}/decisions").read(["file", "row", "keep"])
    gone = found.filter(pa.compute.invert(found["keep"]))
    return set(zip(gone["file"].to_pylist(), gone["row"].to_pylist(), strict=True))


def with_numpy() -> set[tuple[str, int]]:
    gone: set[tuple[str, int]] = set()
    for number in range(int(partitions)):
        files = sorted(Path(assignments).glob("part-*"))
        table = pa.concat_tables([pq.ParquetFile(file).read_row_group(number) for file in files])
        size = table.schema.field("vector").type.list_size
        vectors = np.concatenate([one.flatten().to_numpy() for one in table["vector"].chunks])
        vectors = vectors.reshape(-1, size)
        clusters, worth = table["cluster"].to_numpy(), table["similarity"].to_numpy()
        rows, names = table["row"].to_numpy(), np.array(table["file"].to_pylist())
        for cluster in np.unique(clusters):
            here = np.flatnonzero(clusters == cluster)
            here = here[np.lexsort((rows[here], names[here], worth[here]))]
            products = np.triu(vectors[here] @ vectors[here].T, 1)
            removed = here[products.max(axis=0) >= 1 - float(eps) - ROUNDING]
            gone.update(zip(names[removed].tolist(), rows[removed].tolist(), strict=True))
    return gone


if __name__ == "__main__":
    started = time.perf_counter()
    gone = with_curator() if who == "curator" else with_numpy()
    seconds = time.perf_counter() - started
    named = sorted((Path(file).name, row) for file, row in gone)
    digest = hashlib.sha256(repr(named).encode()).hexdigest()
    print(json.dumps({"seconds": seconds, "removed": len(gone), "digest": digest}))
