"""Capabilities: what a plan asks of its executor that not each of them can do, and who can."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from curator_core.executors import Executor
from curator_core.filesystems import is_in_memory
from curator_core.plans import Plan, PlannedStage

_ASKED: tuple[tuple[str, str, Callable[[PlannedStage], Any]], ...] = (
    ("runtime_env", "a runtime_env of its own", lambda planned: planned.runtime_env),
    ("timeouts", "a timeout_s", lambda planned: planned.policy.timeout_s),
)


def beyond(executor: Executor, plan: Plan) -> Iterator[str]:
    """What stages ask for and this executor does not claim to be able to do."""
    for planned in plan.stages:
        for capability, what, is_asked in _ASKED:
            if is_asked(planned) and capability not in executor.capabilities:
                yield (
                    f"stage {planned.index + 1} {planned.name!r} asks for {what}, which "
                    f"{type(executor).__name__} cannot give; {_way_out(capability)}"
                )
    if "isolation" in executor.capabilities:
        yield from _out_of_sight(plan)


def _out_of_sight(plan: Plan) -> Iterator[str]:
    """Files in the memory of this process, where workers are others."""
    told = set()
    for planned in plan.stages:
        for name, path in _paths_in_memory(planned):
            if path not in told:
                told.add(path)
                yield (
                    f"stage {planned.index + 1} {planned.name!r}: {name} is {path}, but each "
                    "worker process has a memory of its own and sees nothing of this one's; use a "
                    "folder or an object store, or LocalExecutor(workers=0)"
                )


def _paths_in_memory(planned: PlannedStage) -> Iterator[tuple[str, str]]:
    for name, value in vars(planned.stage).items():
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, str) and is_in_memory(path):
                yield name, path


def _way_out(capability: str) -> str:
    able = [f"{name!r}" for name in _able(capability)]
    if not able:
        return "install an executor that can (pip install curator-streaming)"
    return f"use the executor {' or '.join(able)}"


def _able(capability: str) -> Iterator[str]:
    """Those that are installed, by the names that recipes have for them."""
    from curator_core.plugins import plugins

    known = plugins().executors
    for name in known.places:
        with suppress(Exception):  # what cannot be imported here is no way out
            if capability in known.load(name).capabilities:
                yield name
