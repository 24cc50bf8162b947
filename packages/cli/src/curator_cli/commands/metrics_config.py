"""`curate metrics-config`: configuration files for Prometheus and Grafana."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import yaml
from curator_core.errors import PipelineError
from curator_report.metrics.alerts import RULES
from curator_report.metrics.dashboard import dashboard
from curator_report.metrics.server import DEFAULT_PORT, LOOPBACK, address_of

from curator_cli.options import with_output
from curator_cli.output import Screen

DEFAULT_TARGETS = tuple(f"{LOOPBACK}:{DEFAULT_PORT + number}" for number in range(4))
SETTINGS, ALERTS, BOARD = "prometheus.yml", "curator_alerts.yml", "curator_dashboard.json"


@click.command("metrics-config")
@click.argument("folder", metavar="DIR")
@click.option(
    "--target",
    "targets",
    metavar="HOST:PORT",
    multiple=True,
    help="Where runs serve their metrics; by default, four ports from 9464 on.",
)
@with_output
def metrics_config(screen: Screen, folder: str, targets: tuple[str, ...]) -> None:
    """Write settings for Prometheus and Grafana, alerts and a dashboard into DIR.

    Nothing is downloaded or started.
    """
    from curator_report.summary import details

    written = write_settings(folder, targets)
    screen.print_json({"files": written})
    screen.show(details([("written", path) for path in written]))
    screen.show(details([
        ("then", f"prometheus --config.file={written[0]} --web.listen-address=127.0.0.1:9090"),
        ("", "in Grafana: Dashboards, New, Import, then choose curator_dashboard.json"),
        ("", "curate run RECIPE --metrics"),
    ]))  # fmt: skip


def write_settings(folder: str, targets: Sequence[str] = (), every: str = "5s") -> list[str]:
    """Write three files and return their paths, the settings of Prometheus first."""
    for target in targets:
        if ":" not in target or address_of(target) is None:
            raise PipelineError(f"--target {target}: must be HOST:PORT, as in 127.0.0.1:9464")
    home = Path(folder)
    try:
        home.mkdir(parents=True, exist_ok=True)
        (home / SETTINGS).write_text(_yaml(settings(targets or DEFAULT_TARGETS, every)))
        (home / ALERTS).write_text(_yaml(RULES))
        (home / BOARD).write_text(json.dumps(dashboard(), indent=1) + "\n")
    except OSError as error:
        raise PipelineError(f"cannot write into {folder}: {error.strerror or error}") from error
    return [str(home / name) for name in (SETTINGS, ALERTS, BOARD)]


def settings(targets: Sequence[str], every: str) -> dict[str, Any]:
    """Return the settings of Prometheus. Runs come and go: an unreachable target is no alert."""
    return {
        "global": {"scrape_interval": every, "evaluation_interval": every},
        "rule_files": [ALERTS],
        "scrape_configs": [{"job_name": "curator", "static_configs": [{"targets": list(targets)}]}],
    }


def _yaml(facts: Any) -> str:
    return yaml.safe_dump(facts, sort_keys=False, width=100)
