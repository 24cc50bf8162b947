"""Check the `runtime_env` of stages before anything is started."""

import os
from collections.abc import Iterator

from curator_core import Plan
from curator_core.errors import hint, reason_of

_PLUGINS = "RAY_RUNTIME_ENV_PLUGINS"
"""The variable that adds fields to a `runtime_env`."""


def runtime_env_problems(plan: Plan) -> Iterator[str]:
    """Yield what is wrong with the `runtime_env` of each stage.

    Ray checks types and paths. It only logs unknown fields, so they are checked here.
    """
    with_env = [planned for planned in plan.stages if planned.runtime_env]
    if not with_env:
        return
    from ray.runtime_env import RuntimeEnv

    known = {name for name in RuntimeEnv.known_fields if not name.startswith("_")}
    for planned in with_env:
        stage = f"stage {planned.index + 1} {planned.name!r}"
        wanted = planned.runtime_env or {}
        for name in wanted if _PLUGINS not in os.environ else ():
            if name not in known:
                yield f"{stage} has a runtime_env with {name!r}, unknown to Ray{hint(name, known)}"
        try:
            RuntimeEnv(**wanted)
        except Exception as error:  # noqa: BLE001 - Ray raises many kinds of errors
            yield f"{stage} has a runtime_env that Ray refuses ({reason_of(error)})"
