"""Reads JSON lines and writes them again: IN OUT WORKERS (0: in this very process)."""

import json
import sys
import time

from curator_core import LocalExecutor, Pipeline
from curator_text import JsonlReader, JsonlWriter

folder, out, workers = sys.argv[1:4]
pipeline = Pipeline("copy", stages=[JsonlReader(f"{folder}/*.jsonl"), JsonlWriter(out)])
executor = LocalExecutor(workers=int(workers))

if __name__ == "__main__":
    started = time.perf_counter()
    pipeline.run(executor)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds}))
