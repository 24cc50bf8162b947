"""Long jobs on a private cluster: `python soak_job.py FOLDER KIND COUNT [SECONDS]`.

Prints the result as JSON, with the bytes that Ray spilled to disk.
"""

import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
from curator_core import Pipeline, ProcessingStage, Task
from curator_core.testing.contract.stages import Rests, Writes
from curator_ray.cluster.connection import connected
from curator_ray.cluster.private import PrivateCluster
from curator_streaming.executor import StreamingExecutor

MB = 1_000_000
UNFUSED = {"streaming": {"fuse": False}}


class Makes(ProcessingStage[Task[Any], Task[Any]]):
    """Makes this many megabytes from a number."""

    def __init__(self, megabytes: int) -> None:
        self.megabytes = megabytes

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes([task.data % 251]) * (self.megabytes * MB))


class Inflates(ProcessingStage[Task[Any], Task[Any]]):
    """Yields a hundred outputs of the size of its input."""

    def process(self, task: Task[Any]) -> Iterator[Task[Any]]:
        for _ in range(100):
            yield Task(bytes(len(task.data)))


class Passes(ProcessingStage[Task[Any], Task[Any]]):
    """Copies its data."""

    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(bytes(reversed(task.data[:10])) + task.data[10:])


class Measures(ProcessingStage[Task[Any], Task[Any]]):
    def process(self, task: Task[Any]) -> Task[Any]:
        return task.with_data(len(task.data))


def stages(kind: str, folder: Path, seconds: float) -> list[Any]:
    out = folder / "out"
    out.mkdir(exist_ok=True)
    if kind == "files":
        return [Rests(seconds), Writes(str(out)).with_(hints=UNFUSED)]
    if kind == "megabytes":
        unfused = [Passes().with_(name=f"pass_{n}", hints=UNFUSED) for n in range(2)]
        return [Makes(1), *unfused, Measures().with_(hints=UNFUSED)]
    if kind == "flow":
        return [Makes(10), Passes().with_(hints=UNFUSED), Measures().with_(hints=UNFUSED)]
    return [Makes(1), Inflates().with_(hints=UNFUSED), Measures().with_(hints=UNFUSED)]


def spilled_bytes(folder: str) -> int:
    """Read from the raylet's log how much it spilled."""
    logs = Path(folder).glob("ray/session_*/logs/raylet*.out")
    text = "".join(log.read_text(errors="replace") for log in logs)
    assert text, "no log of a raylet was found"
    return max((int(mb) << 20 for mb in re.findall(r"Spilled (\d+) MiB", text)), default=0)


def main() -> None:
    folder, kind, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 0.0
    pipeline = Pipeline("soak", stages=stages(kind, folder, seconds), max_failures=None)
    store_gb = 0.3 if kind == "megabytes" else 1.0
    with connected(private=PrivateCluster(cpus=2, object_store_gb=store_gb)) as connection:
        started = time.monotonic()
        executor = StreamingExecutor(config={"cpu_allocation_percentage": 1})
        stream = pipeline.stream(executor, tasks=[Task(n) for n in range(count)])
        outputs = sum(1 for _ in stream)
        took = time.monotonic() - started
        spilled = spilled_bytes(connection.folder or "")
    result = stream.result
    facts = {
        "outputs": outputs,
        "done": result.sources_done,
        "quarantined": len(result.quarantined),
        "restarts": result.worker_restarts,
        "seconds": took,
        "spilled": spilled,
        "driver_mb": psutil.Process().memory_info().rss / MB,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
