"""Plans: validated, immutable pipelines, ready for any executor."""

import inspect
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property
from typing import Any, Self

from curator_core.model.files import FileGroup
from curator_core.model.ids import fingerprint
from curator_core.model.policies import ErrorPolicy, FailureBudget
from curator_core.model.resources import Resources
from curator_core.model.secrets import redact
from curator_core.model.stages import INHERITED_SETTINGS, AnyStage, may_fan_out
from curator_core.model.tasks import AnyTask, Empty


@dataclass(frozen=True)
class PlannedStage:
    """A stage with all settings resolved.

    A fused step has the number, name and settings of its first stage; `members` are all its stages.
    """

    index: int
    name: str
    stage: AnyStage
    resources: Resources
    batch_size: int
    num_workers: int | None
    policy: ErrorPolicy
    runtime_env: Mapping[str, Any] | None
    hints: Mapping[str, Mapping[str, Any]]
    members: "tuple[PlannedStage, ...]" = ()

    @classmethod
    def of(cls, index: int, stage: AnyStage, policy: ErrorPolicy) -> Self:
        return cls(
            index,
            stage.name,
            stage,
            stage.resources,
            stage.batch_size,
            stage.requested_workers,
            policy,
            stage.runtime_env,
            stage.hints,
        )

    @property
    def parts(self) -> "tuple[PlannedStage, ...]":
        """The stages of a fused step, or else the stage itself."""
        return self.members or (self,)

    @property
    def input_type(self) -> type[AnyTask]:
        return self.stage.input_type

    @property
    def output_type(self) -> type[AnyTask]:
        return self.stage.output_type

    @property
    def takes_nothing(self) -> bool:
        """Whether its input is the empty task that starts a pipeline."""
        return issubclass(self.input_type, Empty)

    @property
    def takes_files(self) -> bool:
        return issubclass(self.input_type, FileGroup)

    @property
    def returns_files(self) -> bool:
        return issubclass(self.output_type, FileGroup)

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
    steps: tuple[PlannedStage, ...] = ()
    """What executors run: the stages, unless `curator_core.plan.fusion` has merged some of them."""

    def __post_init__(self) -> None:
        if not self.steps:
            object.__setattr__(self, "steps", self.stages)

    def steps_between(self, first: int, last: int | None = None) -> tuple[PlannedStage, ...]:
        """Return the steps that begin with stage number `first`, up to number `last`."""
        end = len(self.stages) if last is None else last + 1
        return tuple(step for step in self.steps if first <= step.index < end)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(redact(json.dumps(self.describe(), sort_keys=True, default=str)))

    def describe(self) -> list[dict[str, Any]]:
        return [planned.describe() for planned in self.stages]

    def __reduce__(self) -> tuple[object, ...]:
        values = tuple(getattr(self, field.name) for field in fields(self))
        return Plan, values


_SPEED_ONLY = frozenset(("name", *INHERITED_SETTINGS))


def stage_options(stage: AnyStage) -> dict[str, Any]:
    """Return the options of a stage as plain data, without those that only affect speed."""
    if is_dataclass(stage):
        options = {f.name: getattr(stage, f.name) for f in fields(stage) if f.init and f.repr}
    else:
        options = {k: v for k, v in vars(stage).items() if not k.startswith("_")}
    unwanted = _SPEED_ONLY | {"input_type", "output_type", "__doc__"}
    return {k: to_plain_data(v) for k, v in sorted(options.items()) if k not in unwanted}


def to_plain_data(value: Any) -> Any:
    """Return a value as JSON-compatible data that is the same in every process."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): to_plain_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain_data(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(str(item) for item in value)
    if is_dataclass(value) and not isinstance(value, type):
        facts = {field.name: to_plain_data(getattr(value, field.name)) for field in fields(value)}
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


@dataclass(frozen=True)
class Output:
    """A folder that a writer publishes to."""

    folder: str
    stage: str
    mode: str = "error"
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)
    is_tree: bool = False
    """Whether the writer also writes to subfolders."""


def outputs_of(plan: Plan) -> list[Output]:
    """Return the folders that the plan's writers publish to, including those of dropped records."""
    found = []
    for planned in plan.stages:
        if not planned.stage.writes:
            continue
        options = dict(getattr(planned.stage, "storage_options", None) or {})
        mode = getattr(planned.stage, "mode", "error")
        for name in ("output_path", "dropped_path"):
            folder = getattr(planned.stage, name, None)
            if folder:
                is_tree = name == "output_path" and getattr(planned.stage, "output_is_tree", False)
                found.append(Output(str(folder), planned.name, mode, options, is_tree))
    return found


def any_appends(outputs: Iterable[Output]) -> bool:
    return any(output.mode == "append" for output in outputs)
