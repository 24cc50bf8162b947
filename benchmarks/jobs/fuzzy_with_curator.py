"""Removes near duplicates from JSON Lines: IN OUT [WORKERS [SEED [index [BLOCKSIZE]]]].

CURATOR_DEDUP_ENGINE says whether numpy does it or compiled loops.
"""

import json
import sys
import time
from pathlib import Path

from curator_core.local.executor import LocalExecutor
from curator_dedup import FuzzyDeduplicationWorkflow

folder, out, *more = sys.argv[1:-1]  # what stands last is when the job began
workers = int(more[0]) if more else 0
seed = int(more[1]) if len(more) > 1 else 42
index = f"{out}-index" if more[2:] else None
blocksize = int(more[3]) if more[3:] else "256MB"


def bytes_in(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*.parquet"))


if __name__ == "__main__":
    started = time.perf_counter()
    workflow = FuzzyDeduplicationWorkflow(
        f"{folder}/*.jsonl", out, input_blocksize=blocksize, seed=seed, index_path=index
    )
    result = workflow.run(LocalExecutor(workers=workers))
    seconds = time.perf_counter() - started
    work = Path(workflow.work_dir)
    sizes = {name: bytes_in(work / name) for name in ("bands", "matches/links", "members")}
    sizes["index"] = bytes_in(Path(f"{out}-index"))
    print(json.dumps({"seconds": seconds, "bytes": sizes, **result.metadata}))
