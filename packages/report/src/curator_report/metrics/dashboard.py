"""Grafana dashboard, with a row of panels for each common question about a run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_RUN = '{run=~"$run"}'
_WIDTH, _HEIGHT = 8, 7


@dataclass(frozen=True)
class Panel:
    """A question, the query that answers it, and the names of its lines."""

    title: str
    query: str
    legend: str = "{{stage}}"
    unit: str = "short"
    kind: str = "timeseries"


def _rate(metric: str, more: str = "", by: str = "run, stage") -> str:
    labels = f'{{run=~"$run"{more}}}'
    return f"sum by ({by}) (rate(curator_{metric}{labels}[$__rate_interval]))"


def _quantile(part: float) -> str:
    return f"histogram_quantile({part}, {_rate('task_seconds_bucket', by='le, run, stage')})"


ROWS: dict[str, tuple[Panel, ...]] = {
    "Is it getting on?": (
        Panel("Sources", f"curator_sources{_RUN}", "{{state}}"),
        Panel("Since anything moved",
              f"(time() - curator_last_progress_timestamp_seconds{_RUN})", "{{run}}", "s", "stat"),
        Panel("Tasks per second", _rate("task_seconds_count"), unit="ops"),
        Panel("Records in per second", _rate("items_total", ', direction="in"'), unit="ops"),
        Panel("Bytes in per second", _rate("bytes_total", ', direction="in"'), unit="Bps"),
        Panel("How long", f"curator_run_seconds{_RUN}", "{{run}}", "s", "stat"),
    ),
    "Does anything fail?": (
        Panel("Tasks by outcome",
              f"sum by (run, status) (curator_tasks_total{_RUN})", "{{status}}"),
        Panel("Failed, quarantined, timed out, crashed",
              'sum by (run, stage, status) (curator_tasks_total{run=~"$run",'
              'status=~"failed|quarantined|timed_out|crashed|retried"})', "{{stage}} {{status}}"),
        Panel("Records kept back",
              'sum by (run, stage, direction) (curator_items_total{run=~"$run",'
              'direction=~"dropped|failed|rejected"})', "{{stage}} {{direction}}"),
        Panel("Workers replaced", f"curator_worker_restarts_total{_RUN}", "{{reason}}"),
    ),
    "Bottleneck": (
        Panel("Workers' time at each stage", _rate("busy_seconds_total"), unit="none"),
        Panel("Seconds per task, half of them", _quantile(0.5), unit="s"),
        Panel("Seconds per task, 95 % of them", _quantile(0.95), unit="s"),
        Panel("Waiting for input", _rate("input_wait_seconds_total"), unit="none"),
        Panel("Waiting for room", _rate("room_wait_seconds_total"), unit="none"),
        Panel("Queue, tasks", f"curator_queue_tasks{_RUN}"),
        Panel("Queue, bytes", f"curator_queue_bytes{_RUN}", unit="bytes"),
        Panel("CPUs at each stage", _rate("cpu_seconds_total"), unit="none"),
        Panel("Waiting for a CPU", _rate("cpu_wait_seconds_total"), unit="none"),
        Panel("Setting up", f"curator_setup_seconds_total{_RUN}", unit="s"),
    ),
    "What do stages log?": (
        Panel("Mean of each metric", 'curator_stage_metric{run=~"$run",statistic="mean"}',
              "{{stage}} {{metric}}"),
        Panel("Sum per second",
              'sum by (run, stage, metric) '
              '(deriv(curator_stage_metric{run=~"$run",statistic="sum"}[$__rate_interval]))',
              "{{stage}} {{metric}}"),
        Panel("Values per second",
              _rate("stage_metric_values_total", by="run, stage, metric"),
              "{{stage}} {{metric}}", "ops"),
    ),
    "Who is there?": (
        Panel("Workers by state", f"curator_workers{_RUN}", "{{state}}"),
        Panel("Workers by stage", f"curator_stage_workers{_RUN}"),
        Panel("Set up how often", f"curator_setups_total{_RUN}"),
        Panel("Runs under way", f"curator_run_active{_RUN}", "{{run}}", "none", "stat"),
    ),
    "Is there room?": (
        Panel("Most memory of a worker", f"curator_rss_peak_bytes{_RUN}", unit="bytes"),
        Panel("Memory of nodes", f"curator_node_memory_bytes{_RUN}", "{{node}} {{state}}",
              "bytes"),
        Panel("Object store", f"curator_object_store_bytes{_RUN}", "{{state}}", "bytes"),
        Panel("Spilled to disks", f"curator_spilled_bytes_total{_RUN}", "{{run}}", "bytes"),
        Panel("GPU memory", f"curator_gpu_memory_bytes{_RUN}", "{{node}} {{gpu}} {{state}}",
              "bytes"),
        Panel("GPUs at work", f"curator_gpu_utilization_ratio{_RUN}", "{{node}} {{gpu}}",
              "percentunit"),
    ),
}  # fmt: skip


def queries() -> Iterator[str]:
    """Yield every query of the dashboard."""
    for panels in ROWS.values():
        for panel in panels:
            yield panel.query


def dashboard() -> dict[str, Any]:
    """Return the dashboard for import into Grafana, which asks for the Prometheus data source."""
    return {
        "title": "Curator",
        "uid": "curator",
        "schemaVersion": 38,
        "editable": True,
        "refresh": "5s",
        "time": {"from": "now-30m", "to": "now"},
        "__inputs": [
            {"name": "DS_PROMETHEUS", "label": "Prometheus", "type": "datasource",
             "pluginId": "prometheus", "pluginName": "Prometheus"},
        ],
        "templating": {"list": [_variable()]},
        "panels": list(_panels()),
    }  # fmt: skip


_SOURCE = {"type": "prometheus", "uid": "${DS_PROMETHEUS}"}


def _variable() -> dict[str, Any]:
    query = "label_values(curator_run_seconds, run)"
    return {
        "name": "run",
        "label": "Run",
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": "run"},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panels() -> Iterator[dict[str, Any]]:
    number, top = 1, 0
    for title, panels in ROWS.items():
        place = {"h": 1, "w": 24, "x": 0, "y": top}
        yield {"id": number, "type": "row", "title": title, "gridPos": place, "panels": []}
        number, top = number + 1, top + 1
        for at, panel in enumerate(panels):
            left, down = at % 3 * _WIDTH, at // 3 * _HEIGHT
            place = {"h": _HEIGHT, "w": _WIDTH, "x": left, "y": top + down}
            yield {**_panel(panel), "id": number, "gridPos": place}
            number += 1
        top += -(-len(panels) // 3) * _HEIGHT


def _panel(panel: Panel) -> dict[str, Any]:
    target = {"refId": "A", "expr": panel.query, "legendFormat": panel.legend}
    return {
        "type": panel.kind,
        "title": panel.title,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
        "targets": [{**target, "datasource": _SOURCE}],
    }
