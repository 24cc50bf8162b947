"""Run directories as runs of any size would have left them, written at once."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curator_core.model.records import StageCounts
from curator_core.model.usage import Usage
from curator_core.run.journal import to_line
from curator_core.run.result import RunResult

BEGAN = 1.0e9


def write_run(folder: Path, *, stages: int, events: int, **facts: Any) -> str:
    """Write a finished run with this number of stages and of events of sources."""
    folder.mkdir(parents=True)
    names = [f"stage_{number}" for number in range(stages)]
    result = RunResult(
        stages={name: counts_of(number) for number, name in enumerate(names)},
        seconds=3600.0,
        sources_done=events,
        run_dir=str(folder),
        usages={name: usage_of(number) for number, name in enumerate(names)},
    )
    plan = [{"name": name, "stage": "Any", "options": {}, "resources": {}} for name in names]
    run_json = {
        "name": "large",
        "status": "done",
        "started": 0.0,
        "ended": 3600.0,
        "fingerprint": "f",
        "plan": plan,
        "result": result.to_json(),
        "written": {"sources": events, "folders": {"/out": events}, "statistics": []},
        **facts,
    }
    (folder / "run.json").write_text(json.dumps(run_json))
    with open(folder / "events.jsonl", "wb") as file:
        for event in events_of(stages, events):
            file.write(to_line(event))
    return str(folder)


def counts_of(number: int) -> StageCounts:
    reasons = {f"reason {number} {place}": 5 for place in range(3)}
    return StageCounts(
        tasks_in=9000, tasks_passed=9000, tasks_out=9000, items_in=900_000 - 15 * number,
        items_out=900_000 - 15 * (number + 1), items_dropped=15, seconds=10.0 + number,
        reasons=reasons,
    )  # fmt: skip


def usage_of(number: int) -> Usage:
    usage = Usage()
    for place in range(200):
        usage.add_tasks(0.001 * (place + number))
    usage.seconds, usage.cpu_s, usage.rss_bytes = 10.0 + number, 5.0, 300_000_000
    return usage


def events_of(stages: int, events: int) -> Iterator[dict[str, Any]]:
    yield {"time": BEGAN, "event": "run_started", "name": "large"}
    every = max(1, events // 600)
    for number in range(events):
        at = BEGAN + 3600.0 * number / events
        if number % every == 0:
            yield {"time": at, "event": "snapshot", "snapshot": snapshot_of(stages, number, events)}
        yield {
            "time": at,
            "event": "sources_done",
            "sources": [f"{number:032x}"],
            "lost": False,
            "label": f"/data/crawl/part-{number:07}.jsonl.gz",
            "seconds": number % 977 / 100,
        }
    yield {"time": BEGAN + 3600.0, "event": "run_ended", "status": "done"}  # fmt: skip


def snapshot_of(stages: int, number: int, events: int) -> dict[str, Any]:
    rows = [[number, number * (place + 1) / 100, 0, 0, 1, number % 50 * (place % 7), 0]
            for place in range(stages)]  # fmt: skip
    workers = {"busy": 12, "idle": number % 4, "starting": int(number < events // 10)}
    return {"sources": [number, 3, events - number], "workers": workers, "stored": 0,
            "spilled": 0, "stages": rows}  # fmt: skip
