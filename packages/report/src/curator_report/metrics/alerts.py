"""Alerts for Prometheus: problems that need someone's attention."""

from typing import Any

_FAILURES = (
    'sum by (run, stage) (curator_tasks_total{status="failed"})'
    ' / (sum by (run, stage) (curator_tasks_total{status=~"ok|dropped|failed"}) > 0)'
)


def _used_share(metric: str) -> str:
    return f'{metric}{{state="used"}} / ignoring(state) ({metric}{{state="limit"}} > 0)'


_ACTIVE = "and on(run) curator_run_active == 1"
_IDLE = f"(time() - curator_last_progress_timestamp_seconds) {_ACTIVE}"
_MEMORY = f"({_used_share('curator_node_memory_bytes')} > 0.9) {_ACTIVE}"
_GPU_MEMORY = f"({_used_share('curator_gpu_memory_bytes')} > 0.9) {_ACTIVE}"
_STORE = f"{_used_share('curator_object_store_bytes')} > 0.9"


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
                _alert("CuratorMemory", _MEMORY, "1m",
                       "{{ $labels.node }}: more than 90 % of the memory is taken",
                       "Fewer workers, smaller batches, or memory_gb for the stage with the "
                       "highest curator_rss_peak_bytes."),
                _alert("CuratorGpuMemory", _GPU_MEMORY, "1m",
                       "{{ $labels.node }}: more than 90 % of the memory of GPU "
                       "{{ $labels.gpu }} is taken",
                       "Smaller batches, or more gpu_memory_gb for the stages on it."),
                _alert("CuratorObjectStore", _STORE, "5m",
                       "{{ $labels.run }}: more than 90 % of the object store is taken",
                       "Smaller tasks, or a larger store (object_store_gb)."),
            ],
        }
    ]
}  # fmt: skip
