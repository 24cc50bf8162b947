"""Settings of the tests that cannot stand in pytest.ini."""

import importlib.util
import os
import signal
from pathlib import Path

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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Two processes share the tests: a file's stay together, and all that start Ray do."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        parts = item.path.relative_to(HERE).parts
        group = parts[0] if parts[0] == "executors" else "/".join(parts)
        item.add_marker(pytest.mark.xdist_group(group))
