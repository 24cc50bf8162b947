"""Environments of stages: what Ray refuses in a `runtime_env`, found before anything is started."""

import os
from collections.abc import Iterator

from curator_core import Plan
from curator_core.errors import hint, reason_of

_PLUGINS = "RAY_RUNTIME_ENV_PLUGINS"
"""Names more parts that a `runtime_env` may have."""


def wrong_environments(plan: Plan) -> Iterator[str]:
    """What Ray has against the runtime_env of each stage. It looks at types and paths.

    A name that it does not know it only mentions in a log, and goes on without.
    """
    staged = [planned for planned in plan.stages if planned.runtime_env]
    if not staged:
        return
    from ray.runtime_env import RuntimeEnv

    known = {name for name in RuntimeEnv.known_fields if not name.startswith("_")}
    for planned in staged:
        at = f"stage {planned.index + 1} {planned.name!r}"
        wanted = planned.runtime_env or {}
        for name in wanted if _PLUGINS not in os.environ else ():
            if name not in known:
                yield f"{at} has a runtime_env with {name!r}, which Ray has not{hint(name, known)}"
        try:
            RuntimeEnv(**wanted)
        except Exception as error:  # noqa: BLE001 - Ray checks each part in a way of its own
            yield f"{at} has a runtime_env that Ray refuses ({reason_of(error)})"
