"""Validation: find all problems of a pipeline before it runs."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import Field, dataclass, fields, is_dataclass
from itertools import pairwise
from typing import Any

from curator_core.errors import hint, nearest
from curator_core.io.filesystems import is_in_memory, join
from curator_core.model.stages import (
    PLACEMENT_SETTINGS,
    RECYCLING_SETTINGS,
    AnyStage,
    ProcessingStage,
)
from curator_core.model.tasks import Empty
from curator_core.plan.executor import Executor
from curator_core.plan.plan import Plan, PlannedStage, outputs_of


def find_problems(plan: Plan, *, has_tasks: bool) -> list[str]:
    """Return the problems of a plan's stages, each with a solution."""
    stages = plan.stages
    if not stages:
        return [f"pipeline {plan.name!r} has no stages; add one with add_stage()"]
    problems = [
        *_invalid_name(plan),
        *_repeated_names(stages),
        *_wrong_settings(stages),
        *_type_mismatches(stages),
    ]
    for planned in stages:
        problems += [_at_stage(planned, problem) for problem in _option_problems(planned.stage)]
        if not (has_tasks or plan.allow_empty):
            problems += [_at_stage(planned, problem) for problem in planned.stage.check_sources()]
    if not problems and not has_tasks:
        problems += [*_missing_columns(stages), *_outputs_that_are_inputs(plan)]
    return problems


def find_unreadable_inputs(plan: Plan) -> list[str]:
    """Return why the first inputs cannot be read, which takes reading their beginnings."""
    return (
        []
        if plan.allow_empty
        else [
            _at_stage(planned, problem)
            for planned in plan.stages
            for problem in planned.stage.check_content()
        ]
    )


def plan_notes(plan: Plan) -> Iterator[str]:
    """Yield remarks that are worth showing but do not prevent a run."""
    for planned in plan.stages:
        for low, high in _limits(planned.stage):
            least = low.value
            if high.is_changed and not low.is_changed and least is not None and least > 0:
                yield (
                    f"stage {planned.name!r} has a lower limit, too: {low.name} is {least:,} by "
                    "default"
                )


@dataclass(frozen=True)
class _Limit:
    """An option of a stage that is a minimum or maximum."""

    name: str
    value: float | None
    is_changed: bool


def _limits(stage: AnyStage) -> Iterator[tuple[_Limit, _Limit]]:
    """Yield the options `min_x` and `max_x` of a stage."""
    declared: tuple[Field[Any], ...] = fields(stage) if is_dataclass(stage) else ()
    options = {one.name: one for one in declared}
    for name in options:
        other = f"max_{name.removeprefix('min_')}"
        if name.startswith("min_") and other in options:
            yield _limit(stage, options[name]), _limit(stage, options[other])


def _limit(stage: AnyStage, option: Field[Any]) -> _Limit:
    value = getattr(stage, option.name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return _Limit(option.name, value if is_number else None, value != option.default)


def _option_problems(stage: AnyStage) -> Iterator[str]:
    """Yield what a stage says about its options, and limits between which there is no number."""
    found = list(stage.check())
    yield from found
    for low, high in _limits(stage):
        is_reported = any(low.name in problem and high.name in problem for problem in found)
        if is_reported or low.value is None or high.value is None:
            continue
        if low.value > high.value:
            yield f"{low.name} ({low.value:,}) is greater than {high.name} ({high.value:,})"


def _at_stage(planned: PlannedStage, problem: str) -> str:
    return f"stage {planned.index + 1} {planned.name!r}: {problem}"


def _invalid_name(plan: Plan) -> Iterator[str]:
    """The name of a pipeline is also the name of its run directory."""
    if not plan.name.strip() or plan.name.startswith(".") or re.search(r"[/\\\0]", plan.name):
        yield (
            f"{plan.name!r} cannot be a pipeline's name, because its run directory has the same "
            "name: use letters, digits, - and _"
        )


def _repeated_names(stages: Sequence[PlannedStage]) -> Iterator[str]:
    first: dict[str, PlannedStage] = {}
    for planned in stages:
        if planned.name in first:
            yield _at_stage(
                planned,
                f"it has the same name as stage {first[planned.name].index + 1}; "
                f"give it another with .with_(name='{planned.name}_2')",
            )
        first.setdefault(planned.name, planned)


def _wrong_settings(stages: Sequence[PlannedStage]) -> Iterator[str]:
    for planned in stages:
        if not _does_something(planned.stage):
            kind = type(planned.stage).__name__
            yield _at_stage(planned, f"{kind} defines neither process nor process_batch; write one")
        if planned.batch_size < 1:
            yield _at_stage(planned, f"batch_size is {planned.batch_size}, but must be 1 or more")
        if planned.num_workers is not None and planned.num_workers < 1:
            yield _at_stage(planned, f"num_workers is {planned.num_workers}, but must be 1 or more")
        yield from _wrong_worker_settings(planned)


def _wrong_worker_settings(planned: PlannedStage) -> Iterator[str]:
    for name in PLACEMENT_SETTINGS:
        count = getattr(planned.stage, name)
        if count is not None and count < 1:
            yield _at_stage(planned, f"{name} is {count}, but must be 1 or more")
    if planned.stage.workers_per_node is not None and planned.num_workers is not None:
        yield _at_stage(planned, "num_workers and workers_per_node are both set; give one")
    for name, limit in zip(RECYCLING_SETTINGS, _recycling_limits(planned), strict=True):
        if limit is not None and limit < 0:
            yield _at_stage(planned, f"{name} is {limit}, but must be 0 (no limit) or more")


def _does_something(stage: AnyStage) -> bool:
    kind = type(stage)
    return stage.works_on_batches or kind.process is not ProcessingStage.process


def _type_mismatches(stages: Sequence[PlannedStage]) -> Iterator[str]:
    for before, after in pairwise(stages):
        gives, takes = before.output_type, after.input_type
        if issubclass(gives, takes) or issubclass(takes, gives):
            continue
        yield _at_stage(
            after,
            f"it takes {takes.__name__}, but {before.name!r} before it returns {gives.__name__}"
            + _suggest_position(after, stages),
        )


def _suggest_position(misplaced: PlannedStage, stages: Sequence[PlannedStage]) -> str:
    if misplaced.input_type is Empty:
        return "; a reader can only be the first stage: move it to the front"
    for planned in stages:
        if planned is not misplaced and issubclass(planned.output_type, misplaced.input_type):
            return f"; move it behind {planned.name!r}"
    return "; put a stage between them that makes one of the other"


def _missing_columns(stages: Sequence[PlannedStage]) -> Iterator[str]:
    known: frozenset[str] | None = frozenset()
    for planned in stages:
        if known is not None and planned.index:
            yield from (_at_stage(planned, p) for p in _missing_inputs(planned, known))
        known = planned.stage.columns_after(None if not planned.index else known)


def _outputs_that_are_inputs(plan: Plan) -> Iterator[str]:
    reader = plan.stages[0]
    endings = {planned.name: getattr(planned.stage, "ending", "") for planned in plan.stages}
    for output in outputs_of(plan):
        if reader.stage.would_read(join(output.folder, f"part-0{endings[output.stage]}")):
            yield (
                f"stage {output.stage!r} writes to {output.folder}, which {reader.name!r} reads: "
                "a second run would read its own results; write to another folder"
            )


def _missing_inputs(planned: PlannedStage, known: frozenset[str]) -> Iterable[str]:
    for column in planned.stage.inputs():
        if column in known:
            continue
        close = nearest(column, known)
        option = _option_naming(planned, column)
        remedy = f"; set {option}: {close}?" if close and option else ""
        unknown = f"column {column!r}, which nothing before it adds{hint(column, known)}"
        yield f"it reads {unknown}{remedy}"


def _option_naming(planned: PlannedStage, column: str) -> str | None:
    """Return the name of the stage option that holds this column name, if any."""
    for name, value in vars(planned.stage).items():
        if value == column and name.endswith("field"):
            return name
    return None


_FEATURES: tuple[tuple[str, str, Callable[[PlannedStage], Any]], ...] = (
    ("runtime_env", "a runtime_env of its own", lambda planned: planned.runtime_env),
    ("timeouts", "a timeout_s", lambda planned: planned.policy.timeout_s),
    (
        "placement",
        "workers per node, an accelerator or labels",
        lambda planned: _is_placed(planned),
    ),
    ("recycling", "the recycling of its workers", lambda planned: any(_recycling_limits(planned))),
)


def _is_placed(planned: PlannedStage) -> bool:
    counts = any(getattr(planned.stage, name) for name in PLACEMENT_SETTINGS)
    return bool(counts or planned.resources.accelerator or planned.resources.labels)


def _recycling_limits(planned: PlannedStage) -> Iterator[float | None]:
    return (getattr(planned.stage, name) for name in RECYCLING_SETTINGS)


def unsupported_features(executor: Executor, plan: Plan) -> Iterator[str]:
    """Yield the features that stages ask for and this executor does not support."""
    for planned in plan.stages:
        for capability, what, is_asked in _FEATURES:
            if is_asked(planned) and capability not in executor.capabilities:
                yield (
                    f"stage {planned.index + 1} {planned.name!r} asks for {what}, which "
                    f"{type(executor).__name__} does not support; {_suggest_executor(capability)}"
                )
    if "isolation" in executor.capabilities:
        yield from _memory_paths(plan)


def _memory_paths(plan: Plan) -> Iterator[str]:
    """Yield in-memory paths, which other worker processes cannot see."""
    reported = set()
    for planned in plan.stages:
        for name, path in _paths_in_memory(planned):
            if path not in reported:
                reported.add(path)
                yield (
                    f"stage {planned.index + 1} {planned.name!r}: {name} is {path}, but each "
                    "worker process has its own memory and cannot see it; use a folder or an "
                    "object store, or LocalExecutor(workers=0)"
                )


def _paths_in_memory(planned: PlannedStage) -> Iterator[tuple[str, str]]:
    for name, value in vars(planned.stage).items():
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, str) and is_in_memory(path):
                yield name, path


def _suggest_executor(capability: str) -> str:
    able = [f"{name!r}" for name in _capable_executors(capability)]
    if not able:
        return "install an executor that can (pip install curator-streaming)"
    return f"use the executor {' or '.join(able)}"


def _capable_executors(capability: str) -> Iterator[str]:
    """Yield the installed executors with this capability, by the names that recipes use."""
    from curator_core.plugins.registry import plugins

    known = plugins().executors
    for name in known.places:
        with suppress(Exception):  # cannot be imported, so not worth suggesting
            if capability in known.load(name).capabilities:
                yield name
