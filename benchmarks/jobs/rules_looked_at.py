"""Rules over a folder of JSON lines, `watched` or `bare`: IN RUN_DIR HOW.

Watched: as a run that keeps a journal, tells events and serves metrics. Bare: a loop around the
same stages, of which nobody takes notice.
"""

import json
import sys
import time
from collections.abc import Iterable
from typing import Any

from curator_core import Dropped, Empty, LocalExecutor, Pipeline
from curator_report import PrometheusMetrics
from curator_text import GopherQualityFilter, GopherRepetitionFilter, JsonlReader

folder, run_dir, how = sys.argv[1:4]
line = [JsonlReader(f"{folder}/*.jsonl"), GopherRepetitionFilter(), GopherQualityFilter()]
pipeline = Pipeline("rules", stages=line)


def watched() -> int:
    with pipeline.stream(
        LocalExecutor(workers=0), run_dir=run_dir, resume=False, observers=[PrometheusMetrics()]
    ) as stream:
        return sum(task.num_items for task in stream)


def bare() -> int:
    return sum(
        task.num_items for task in made([Empty()], [p.stage for p in pipeline.build().stages])
    )


def made(tasks: Iterable[Any], stages: list[Any]) -> Iterable[Any]:
    if not stages:
        yield from tasks
        return
    first, *behind = stages
    for task in tasks:
        given = first.process(task)
        several = given if hasattr(given, "__next__") or isinstance(given, list) else [given]
        yield from made((one for one in several if is_task(one)), behind)


def is_task(given: Any) -> bool:
    return given is not None and not isinstance(given, Dropped) and given.num_items > 0


if __name__ == "__main__":
    if how == "watched":
        # To import takes once, however long a run is.
        from curator_core.local import executor as here  # noqa: F401
        from curator_core.run import session as streams  # noqa: F401
        from curator_report.metrics import collector, server  # noqa: F401

    started = time.process_time()
    documents = {"watched": watched, "bare": bare}[how]()
    print(json.dumps({"documents": documents, "cpu_s": time.process_time() - started}))
