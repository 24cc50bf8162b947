"""Removes semantic duplicates from Parquet in this process: IN OUT CLUSTERS EPS PARTITIONS."""

import json
import sys
import time

from curator_core import LocalExecutor
from curator_dedup import SemanticDeduplicationWorkflow

folder, out, clusters, eps, partitions = sys.argv[1:6]

if __name__ == "__main__":
    started = time.perf_counter()
    workflow = SemanticDeduplicationWorkflow(
        folder, out, n_clusters=int(clusters), eps=float(eps), partitions=int(partitions)
    )
    result = workflow.run(LocalExecutor(workers=0))
    seconds = time.perf_counter() - started
    steps = {name: round(run.seconds, 2) for name, run in result.runs.items()}
    print(json.dumps({"seconds": seconds, "steps": steps, **result.metadata}))
