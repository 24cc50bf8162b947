"""Plans: validated, immutable pipelines, ready for any executor."""

import inspect
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import Any, Self

from curator_core.model.lineage import fingerprint
from curator_core.model.policies import ErrorPolicy, FailureBudget
from curator_core.model.resources import Resources
from curator_core.model.secrets import redact
from curator_core.model.stages import HANDED_DOWN, AnyStage, may_fan_out
from curator_core.model.tasks import AnyTask


@dataclass(frozen=True)
class PlannedStage:
    """A stage with all settings resolved."""

    index: int
    name: str
    stage: AnyStage
    resources: Resources
    batch_size: int
    num_workers: int | None
    policy: ErrorPolicy
    runtime_env: Mapping[str, Any] | None
    hints: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, index: int, stage: AnyStage, policy: ErrorPolicy) -> Self:
        return cls(
            index,
            stage.name,
            stage,
            stage.resources,
            stage.batch_size,
            stage.wants_workers,
            policy,
            stage.runtime_env,
            stage.hints,
        )

    @property
    def takes(self) -> type[AnyTask]:
        return self.stage.takes

    @property
    def gives(self) -> type[AnyTask]:
        return self.stage.gives

    @cached_property
    def fans_out(self) -> bool:
        """Whether one task may become several."""
        return may_fan_out(self.stage)

    def describe(self) -> dict[str, Any]:
        """Return what determines the output: name, class and options, without resources."""
        kind = type(self.stage)
        place = f"{kind.__module__}:{kind.__qualname__}"
        return {"name": self.name, "stage": place, "options": stage_options(self.stage)}


@dataclass(frozen=True)
class Plan:
    """The stages of a pipeline in order, with composites replaced by their parts."""

    name: str
    stages: tuple[PlannedStage, ...]
    description: str = ""
    budget: FailureBudget = FailureBudget()
    allow_empty: bool = False
    recipe: str = ""
    notes: tuple[str, ...] = ()
    samples: bool = True

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(redact(json.dumps(self.describe(), sort_keys=True, default=str)))

    def describe(self) -> list[dict[str, Any]]:
        return [planned.describe() for planned in self.stages]

    def __reduce__(self) -> tuple[object, ...]:
        values = tuple(getattr(self, field.name) for field in fields(self))
        return Plan, values


_SPEED_ONLY = frozenset(("name", *HANDED_DOWN))


def stage_options(stage: AnyStage) -> dict[str, Any]:
    """Return the options of a stage as plain data, without those that only affect speed."""
    if is_dataclass(stage):
        options = {f.name: getattr(stage, f.name) for f in fields(stage) if f.init and f.repr}
    else:
        options = {k: v for k, v in vars(stage).items() if not k.startswith("_")}
    unwanted = _SPEED_ONLY | {"takes", "gives", "__doc__"}
    return {k: plain(v) for k, v in sorted(options.items()) if k not in unwanted}


def plain(value: Any) -> Any:
    """Return a value as JSON-compatible data that is the same in every process."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(str(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        facts = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"type": type(value).__qualname__, **facts}
    if inspect.isroutine(value) or isinstance(value, type):
        return _source_of(value)
    return f"{type(value).__module__}:{type(value).__qualname__}"


def _source_of(function: Any) -> str:
    """Return the name of a function or class, and a hash of its source to detect edits."""
    module = getattr(function, "__module__", "builtins")  # str.split has none
    name = f"{module}:{function.__qualname__}"
    try:
        return f"{name}#{fingerprint(inspect.getsource(function))[:8]}"
    except Exception:  # noqa: BLE001 - inspect.getsource may raise anything
        return name
