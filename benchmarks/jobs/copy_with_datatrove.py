"""The same copy with datatrove: IN OUT."""

import json
import sys
import time

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.writers import JsonlWriter
from loguru import logger

logger.remove()
folder, out = sys.argv[1:3]
executor = LocalPipelineExecutor(
    pipeline=[
        JsonlReader(folder, glob_pattern="*.jsonl"),
        JsonlWriter(f"{out}/data", output_filename="${rank}.jsonl", compression=None),
    ],
    tasks=1,
    workers=1,
    logging_dir=f"{out}/logs",
)

if __name__ == "__main__":
    started = time.perf_counter()
    executor.run()
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds}))
