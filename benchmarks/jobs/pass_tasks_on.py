"""Stages that do nothing, in this process: TASKS STAGES. One source fans out to all tasks."""

import json
import sys
import time
from collections.abc import Iterator

from curator_core import LocalExecutor, Pipeline, ProcessingStage, Task


class FanOut(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Iterator[Task[int]]:
        return (Task(number) for number in range(task.data))


class PassOn(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> Task[int]:
        return task


tasks, stages = map(int, sys.argv[1:3])
passing = [PassOn().with_(name=f"pass_on_{number}") for number in range(stages)]

if __name__ == "__main__":
    pipeline = Pipeline("noop", stages=[FanOut(), *passing])
    started = time.perf_counter()
    result = pipeline.run(LocalExecutor(workers=0), tasks=[Task(tasks)])
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "tasks": len(result)}))
