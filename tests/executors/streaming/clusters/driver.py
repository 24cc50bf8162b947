"""A job as a user would start it: `python driver.py FOLDER COUNT SECONDS [how]`.

Numbers pass through two stages into files; workers log what they do. Prints the result as JSON.
"""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curator_core import CuratorError, Pipeline, ProcessingStage, RunInterrupted, Task, WorkerInfo
from curator_core.testing.contract.logs import note
from curator_core.testing.contract.stages import Writes
from curator_streaming.executor import StreamingExecutor


@dataclass
class Works(ProcessingStage[Task[Any], Task[Any]]):
    """Logs the start and end of each task, and may ignore signals."""

    log: str
    is_stubborn: bool = False

    def setup(self, worker: WorkerInfo) -> None:
        self._seconds = float(Path(self.log).with_name("seconds").read_text())

    def process(self, task: Task[Any]) -> Task[Any]:
        note(self.log, "begun", self.name, what=task.data)
        if self.is_stubborn:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        time.sleep(self._seconds)
        note(self.log, "done", self.name, what=task.data)
        return task

    def teardown(self) -> None:
        note(self.log, "teardown", self.name)


def main() -> int:
    folder, count, seconds, how = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:]
    (folder / "seconds").write_text(seconds)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    stages: list[Any] = [
        Works(str(folder / "log"), "stubborn" in how),
        Writes(str(out)).with_(hints={"streaming": {"fuse": False}}),
    ]
    pipeline = Pipeline("job", stages=stages, max_failures=None)
    executor = StreamingExecutor(config={"object_store_gb": 0.2, "cpu_allocation_percentage": 1})
    try:
        result = pipeline.run(executor, tasks=[Task(n) for n in range(count)])
    except (CuratorError, RunInterrupted) as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    facts = {
        "done": result.sources_done,
        "skipped": result.sources_skipped,
        "quarantined": len(result.quarantined),
        "restarts": result.worker_restarts,
        "pid": os.getpid(),
    }
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
