"""`curate metrics-config`."""

import click

from curator_core.cli.options import speaks
from curator_core.cli.screens import Screen


@click.command("metrics-config")
@click.argument("folder", metavar="DIR")
@click.option(
    "--target",
    "targets",
    metavar="HOST:PORT",
    multiple=True,
    help="Where runs serve their metrics; four ports from 9464 on, unless said.",
)
@speaks
def metrics_config(screen: Screen, folder: str, targets: tuple[str, ...]) -> None:
    """Write settings for Prometheus and Grafana, alerts and a dashboard into DIR.

    Nothing is downloaded or started.
    """
    from curator_core.metrics.configuring import write_settings
    from curator_core.reporting.summaries import details

    written = write_settings(folder, targets)
    screen.give({"files": written})
    screen.show(details([("written", path) for path in written]))
    screen.show(details([
        ("then", f"prometheus --config.file={written[0]} --web.listen-address=127.0.0.1:9090"),
        ("", "in Grafana: Dashboards, New, Import, then choose curator_dashboard.json"),
        ("", "curate run RECIPE --metrics"),
    ]))  # fmt: skip
