"""Removes near duplicates from JSON Lines: IN OUT [WORKERS [SEED [INDEX [BLOCKSIZE [VERIFY]]]]].

INDEX is index, or - for none. VERIFY is a similarity; without it nothing is verified, as by peers.

CURATOR_DEDUP_ENGINE says whether numpy does it or compiled loops.
"""

import json
import sys
import time
from pathlib import Path

from curator_core import LocalExecutor
from curator_dedup import FuzzyDeduplicationWorkflow

folder, out, *more = sys.argv[1:-1]  # what stands last is when the job began
workers = int(more[0]) if more else 0
seed = int(more[1]) if len(more) > 1 else 42
index = f"{out}-index" if more[2:3] == ["index"] else None
blocksize = int(more[3]) if more[3:] else "256MB"
verify = float(more[4]) if more[4:] else None


def bytes_in(path: Path) -> int:
    return sum(file.stat().st_size for file in path.rglob("*.parquet"))


if __name__ == "__main__":
    started = time.perf_counter()
    workflow = FuzzyDeduplicationWorkflow(
        f"{folder}/*.jsonl", out, input_blocksize=blocksize, seed=seed, index_path=index,
        verify=verify,
    )  # fmt: skip
    result = workflow.run(LocalExecutor(workers=workers))
    seconds = time.perf_counter() - started
    work = Path(workflow.work_dir)
    sizes = {name: bytes_in(work / name) for name in ("bands", "links", "members")}
    sizes["index"] = bytes_in(Path(f"{out}-index"))
    runs = {name: run.seconds for name, run in result.runs.items()}
    print(json.dumps({"seconds": seconds, "bytes": sizes, "runs": runs, **result.metadata}))
