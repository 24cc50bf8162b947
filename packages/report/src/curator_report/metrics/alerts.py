"""Alerts for Prometheus: problems that need someone's attention."""

from typing import Any

_FAILURES = (
    'sum by (run, stage) (curator_tasks_total{status="failed"})'
    ' / (sum by (run, stage) (curator_tasks_total{status=~"ok|dropped|failed"}) > 0)'
)
_MEMORY = (
    'curator_machine_memory_bytes{state="used"}'
    ' / ignoring(state) curator_machine_memory_bytes{state="limit"}'
)
_STORE = (
    'curator_object_store_bytes{state="used"}'
    ' / ignoring(state) (curator_object_store_bytes{state="limit"} > 0)'
)
_IDLE = "(time() - curator_last_progress_timestamp_seconds) and on(run) curator_run_active == 1"


def _alert(name: str, expression: str, held: str, summary: str, remedy: str) -> dict[str, Any]:
    return {
        "alert": name,
        "expr": expression,
        "for": held,
        "labels": {"severity": "warning"},
        "annotations": {"summary": summary, "description": remedy},
    }


RULES = {
    "groups": [
        {
            "name": "curator",
            "rules": [
                _alert("CuratorNoProgress", f"{_IDLE} and ({_IDLE}) > 600", "1m",
                       "{{ $labels.run }}: nothing has moved for ten minutes",
                       "curate status RUN --watch shows at which stage workers are; a timeout_s "
                       "for that stage ends what hangs."),
                _alert("CuratorFailures", f"{_FAILURES} > 0.05", "1m",
                       "{{ $labels.run }}: more than 5 % of what {{ $labels.stage }} got failed",
                       "curate report RUN shows the reasons, with examples."),
                _alert("CuratorMemory", f"{_MEMORY} > 0.9", "1m",
                       "{{ $labels.instance }}: more than 90 % of the memory is taken",
                       "Fewer workers, smaller batches, or memory_gb for the stage with the "
                       "highest curator_rss_peak_bytes."),
                _alert("CuratorObjectStore", f"{_STORE} > 0.9", "5m",
                       "{{ $labels.run }}: more than 90 % of the object store is taken",
                       "Smaller tasks, or a larger store (object_store_gb)."),
            ],
        }
    ]
}  # fmt: skip
