"""A real Prometheus reads a real run, and shows what its dashboard asks for."""

import subprocess
from pathlib import Path

import pytest
import yaml
from curator_cli.commands.metrics_config import write_settings
from curator_core import LocalExecutor
from prometheuskit import check_dashboard, needed, running_prometheus

pytestmark = needed


def test_the_dashboard_shows_a_run_and_counts_like_it(tmp_path: Path) -> None:
    with running_prometheus(tmp_path) as prometheus:
        check_dashboard(LocalExecutor(workers=1), prometheus)


def test_promtool_finds_nothing_wrong(tmp_path: Path) -> None:
    settings, rules, _ = write_settings(str(tmp_path))
    for command in (["check", "config", settings], ["check", "rules", rules]):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


IDLE, FAILING, FULL, FULL_GPU = (
    {"series": 'curator_last_progress_timestamp_seconds{run="r"}', "values": "0x40"},
    {"series": 'curator_tasks_total{run="r",stage="s",status="failed"}', "values": "6x40"},
    {"series": 'curator_node_memory_bytes{run="r",node="n",state="used"}', "values": "95x40"},
    {"series": 'curator_gpu_memory_bytes{run="r",node="n",gpu="1",state="used"}',
     "values": "95x40"},
)  # fmt: skip
OTHERS = (
    {"series": 'curator_run_active{run="r"}', "values": "1x40"},
    {"series": 'curator_tasks_total{run="r",stage="s",status="ok"}', "values": "94x40"},
    {"series": 'curator_node_memory_bytes{run="r",node="n",state="limit"}', "values": "100x40"},
    {"series": 'curator_gpu_memory_bytes{run="r",node="n",gpu="1",state="limit"}',
     "values": "100x40"},
)  # fmt: skip
ALERTS = ("CuratorNoProgress", "CuratorFailures", "CuratorMemory", "CuratorGpuMemory")


@pytest.mark.parametrize(
    ("series", "alert"), list(zip((IDLE, FAILING, FULL, FULL_GPU), ALERTS, strict=True))
)
def test_alerts_ring_when_they_should(series: dict[str, str], alert: str, tmp_path: Path) -> None:
    _, rules, _ = write_settings(str(tmp_path))
    fine = [{**one, "values": "0x40"} for one in (FAILING, FULL, FULL_GPU) if one is not series]
    given = [*OTHERS, *fine, series]
    moving = {**IDLE, "values": "0+60x40"}
    given += [] if series is IDLE else [moving]
    trial = {
        "rule_files": [rules],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": given,
                "promql_expr_test": [
                    {"expr": f'count(ALERTS{{alertname="{name}"}}) or vector(0)',
                     "eval_time": "30m",
                     "exp_samples": [{"labels": "{}", "value": int(name == alert)}]}
                    for name in ALERTS
                ],
            }
        ],
    }  # fmt: skip
    file = tmp_path / "trial.yml"
    file.write_text(yaml.safe_dump(trial))
    command = ["promtool", "test", "rules", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
