"""Settings of the tests that cannot stand in pytest.ini."""

import importlib.util
import os

os.environ.setdefault("CURATOR_EXECUTOR", "local")
"""Where streaming is installed it is the default, and each of these runs would start a cluster."""

if importlib.util.find_spec("hypothesis"):  # wheels are tested where it is not installed
    from hypothesis import HealthCheck, settings

    # A busy machine is no reason to fail; pytest-timeout ends what hangs.
    settings.register_profile(
        "patient", deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("patient")
