"""The rules of web_clean over many pages, which is all work for the CPU: IN OUT ENGINE BEGUN.

Tells when each output was there, to know the rate between start and end.
"""

import json
import os
import sys
import time
from pathlib import Path

from curator_core import Executor, LocalExecutor
from curator_streaming import StreamingExecutor
from curator_streaming.options import StreamingOptions

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

from web_clean import web_clean

CORES = os.cpu_count() or 1


def executor(engine: str) -> Executor:
    if engine == "local":
        return LocalExecutor(workers=CORES)
    return StreamingExecutor(StreamingOptions(cpu_allocation_percentage=1.0))


def main() -> None:
    folder, out, engine, begun = sys.argv[1:5]
    ends = []
    with web_clean(f"{folder}/*.jsonl", out).stream(executor(engine)) as stream:
        for _ in stream:
            ends.append(time.time() - float(begun))
        kept = stream.result.stages["jsonl_writer"].items_in
    print("\n" + json.dumps({"ends": ends, "outputs": len(ends), "kept": kept}))


if __name__ == "__main__":
    main()
