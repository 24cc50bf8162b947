"""Environments of stages: what Ray refuses in a `runtime_env`, found before anything is started."""

from collections.abc import Iterator

from curator_core.failing import reason_of
from curator_core.plans import Plan


def wrong_environments(plan: Plan) -> Iterator[str]:
    """What Ray has against the runtime_env of each stage. It looks at names, types and paths."""
    from ray.runtime_env import RuntimeEnv

    for planned in plan.stages:
        try:
            RuntimeEnv(**(planned.runtime_env or {}))
        except Exception as error:  # noqa: BLE001 - Ray checks each part in a way of its own
            at = f"stage {planned.index + 1} {planned.name!r}"
            yield f"{at} has a runtime_env that Ray refuses ({reason_of(error)})"
