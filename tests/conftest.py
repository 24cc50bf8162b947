"""Settings of the tests that cannot stand in pytest.ini."""

import importlib.util
import os
import signal
from pathlib import Path

import packaging.version  # noqa: F401 - before the folder `packaging` here takes its name
import pytest

HERE = Path(__file__).parent

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A shell ignores it for what runs in the background, and Ctrl-C is among what is tested."""

os.environ.setdefault("CURATOR_EXECUTOR", "local")
"""Where streaming is installed it is the default, and each of these runs would start a cluster."""

if importlib.util.find_spec("hypothesis"):  # wheels are tested where it is not installed
    from hypothesis import HealthCheck, settings

    # A busy machine is no reason to fail; pytest-timeout ends what hangs.
    settings.register_profile(
        "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("patient")


_STARTING_RAY = {"one_ray", "plain_cluster", "script", "start"}
"""The fixtures below `executors` by which a Ray comes up, in this process or another."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A file's tests stay together; those that start Ray are two groups, for they take longest.

    A group keeps one Ray after the other. Tests of executors that start none need not wait for it.
    """
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        parts = item.path.relative_to(HERE).parts
        starts_ray = _STARTING_RAY.intersection(getattr(item, "fixturenames", ()))
        group = "/".join(parts)
        if parts[0] == "executors" and starts_ray:
            group = "streaming" if parts[1] == "streaming" else "executors"
        item.add_marker(pytest.mark.xdist_group(group))
