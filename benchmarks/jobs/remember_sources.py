"""Many small sources through a stage that does nothing: SOURCES RUN_DIR (`-`: none is kept)."""

import json
import sys
import time

from curator_core import FileGroup, LocalExecutor, Pipeline, ProcessingStage


class PassOn(ProcessingStage[FileGroup, FileGroup]):
    def process(self, task: FileGroup) -> FileGroup:
        return task


sources, run_dir = int(sys.argv[1]), sys.argv[2]

if __name__ == "__main__":
    pipeline = Pipeline("remember", stages=[PassOn()])
    tasks = [FileGroup.of([f"file-{number:07d}"]) for number in range(sources)]
    started = time.perf_counter()
    kept = None if run_dir == "-" else run_dir
    result = pipeline.run(LocalExecutor(workers=0), tasks=tasks, run_dir=kept)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "sources": result.sources_done}))
