"""The rules of web_clean over many pages, which is all work for the CPU: IN OUT WORKERS."""

import json
import sys
import time
from pathlib import Path

from curator_core import LocalExecutor

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from web_clean import web_clean

folder, out, workers = sys.argv[1:4]

if __name__ == "__main__":
    started = time.perf_counter()
    result = web_clean(f"{folder}/*.jsonl", out).run(LocalExecutor(workers=int(workers)))
    seconds = time.perf_counter() - started
    kept = result.stages["jsonl_writer"].items_in
    print(json.dumps({"seconds": seconds, "kept": kept}))
