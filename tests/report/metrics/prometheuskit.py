"""A Prometheus for tests, a run for it to scrape, and the values to expect."""

import json
import shutil
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from curator_cli.commands.metrics_config import write_settings
from curator_core import Executor, Pipeline, ProcessingStage, RunResult, Task, processing_stage
from curator_report.metrics.alerts import RULES
from curator_report.metrics.dashboard import queries
from curator_report.metrics.server import PrometheusMetrics
from waitkit import eventually

needed = pytest.mark.skipif(
    shutil.which("prometheus") is None or shutil.which("promtool") is None,
    reason="Prometheus is not installed (apt-get install --no-install-recommends prometheus)",
)


@processing_stage(name="sort")
def sort(task: Task[int]) -> object:
    time.sleep(0.1)
    if task.data % 10 == 3:
        raise ValueError("a three")
    return None if task.data % 10 == 4 else task


class Double(ProcessingStage[Task[int], Task[int]]):
    def process(self, task: Task[int]) -> list[Task[int]]:
        self.log_metrics({"number": task.data})
        return [Task(task.data), Task(task.data)]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Prometheus:
    """One that reads a port every second."""

    def __init__(self, port: int, reads: int) -> None:
        self._address = f"http://127.0.0.1:{port}"
        self.reads = reads
        """Where a run has to offer its metrics."""

    def ask(self, query: str) -> list[dict[str, Any]]:
        words = urllib.parse.urlencode({"query": query})
        with urllib.request.urlopen(f"{self._address}/api/v1/query?{words}", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
            return found

    def is_up(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self._address}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def figure(self, query: str) -> float:
        [found] = self.ask(query)
        return float(found["value"][1])


@contextmanager
def running_prometheus(home: Path) -> Iterator[Prometheus]:
    """Start it with the files that we write."""
    port = free_port()
    [settings, *_] = write_settings(str(home), [f"127.0.0.1:{port}"], every="1s")
    own = free_port()
    command = ["prometheus", f"--config.file={settings}", f"--storage.tsdb.path={home}/data",
               f"--web.listen-address=127.0.0.1:{own}", "--log.level=error"]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        found = Prometheus(own, port)
        try:
            assert eventually(found.is_up)
            assert eventually(lambda: bool(found.ask("up")))  # targets are known later
            yield found
        finally:
            process.kill()


def numbers() -> Iterator[Task[int]]:
    for number in range(40):
        yield Task(number)


def check_dashboard(executor: Executor, prometheus: Prometheus, name: str = "numbers") -> None:
    """Runs it, and has every panel show something and every counter say what the run says."""
    pipeline = Pipeline(name, stages=[sort, Double()], max_failures=None)
    result = pipeline.run(
        executor, list(numbers()), observers=[PrometheusMetrics(prometheus.reads)]
    )
    assert eventually(lambda: bool(prometheus.ask(f'curator_run_active{{run="{name}"}} == 0')))
    empty = [query for query in queries() if not prometheus.ask(_as_asked(query, name))]
    assert [query for query in empty if "gpu" not in query] == []
    rules = [rule["expr"] for group in RULES["groups"] for rule in group["rules"]]  # type: ignore[attr-defined]
    assert not any(prometheus.ask(rule) for rule in rules[2:])
    check_counts(prometheus, result, name)


def _as_asked(query: str, run: str) -> str:
    """With the variables that Grafana would put in."""
    return query.replace("$run", run).replace("$__rate_interval", "30s")


def check_counts(prometheus: Prometheus, result: RunResult, run: str) -> None:
    def tasks(stage: str, status: str) -> float:
        labels = f'run="{run}",stage="{stage}",status="{status}"'
        return prometheus.figure(f"curator_tasks_total{{{labels}}}")

    assert result.stages["sort"].tasks_failed == 4
    for name, counts in result.stages.items():
        counted = [tasks(name, status) for status in ("ok", "dropped", "failed", "retried")]
        assert counted == [
            counts.tasks_passed,
            counts.tasks_dropped,
            counts.tasks_failed,
            counts.tasks_retried,
        ]
        for direction, own in (("in", counts.items_in), ("out", counts.items_out)):
            labels = f'run="{run}",stage="{name}",direction="{direction}"'
            assert prometheus.figure(f"curator_items_total{{{labels}}}") == own
    logged = result.stages["double"].metrics["number"]
    labels = f'run="{run}",stage="double",metric="number"'
    assert prometheus.figure(f"curator_stage_metric_values_total{{{labels}}}") == logged.count
    assert prometheus.figure(f'curator_stage_metric{{{labels},statistic="sum"}}') == logged.sum > 0
    assert tasks("sort", "quarantined") == len(result.quarantined) == 4
    assert prometheus.figure(f'curator_sources{{run="{run}",state="failed"}}') == 4
    assert prometheus.figure(f'curator_sources{{run="{run}",state="done"}}') == 36
    assert prometheus.figure(f'curator_task_seconds_count{{run="{run}",stage="sort"}}') == 40
