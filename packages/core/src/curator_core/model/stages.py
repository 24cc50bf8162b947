"""Stages: the steps of a pipeline."""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from functools import cache
from types import UnionType
from typing import (
    Any,
    ClassVar,
    Generic,
    Self,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from curator_core.model.metrics import MetricsRecorder, check_metrics
from curator_core.model.policies import SETUP_TIMEOUT_S, OnError
from curator_core.model.resources import NodeInfo, Resources, WorkerInfo
from curator_core.model.tasks import AnyTask, Dropped, Mixed, Rejected, StagedFile, Task


class DropSink(ABC):
    """Collects the records that the stages of one call drop, in files published with the output."""

    @abstractmethod
    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        """Keep `records`, which `stage` dropped for `reason`."""

    @abstractmethod
    def finish(self, call_id: str) -> list[StagedFile]:
        """Write the remaining records. File names depend on `call_id` only."""


In = TypeVar("In", bound=AnyTask)
Out = TypeVar("Out", bound=AnyTask)

StageResult: TypeAlias = Out | Dropped | Rejected | Iterable[Out | Dropped | Rejected] | None
"""What `process` may return: a task, several (a list or a generator), or None to drop the task."""


PLACEMENT_SETTINGS = ("workers_per_node", "max_workers_per_node")
RECYCLING_SETTINGS = ("worker_max_lifetime_m", "worker_max_tasks", "worker_max_rss_gb")
INHERITED_SETTINGS = (
    "resources",
    "batch_size",
    "runtime_env",
    "on_error",
    "retries",
    "timeout_s",
    "setup_timeout_s",
    *PLACEMENT_SETTINGS,
    *RECYCLING_SETTINGS,
    "hints",
    "fuse",
)
"""Settings that a composite passes on to its parts."""

_CHANGEABLE = frozenset({"name", "num_workers", *INHERITED_SETTINGS})


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def task_type(argument: Any) -> type[AnyTask]:
    found = get_origin(argument) or argument
    if isinstance(found, TypeVar):
        found = found.__bound__
        found = get_origin(found) or found
    return found if isinstance(found, type) and issubclass(found, Task) else Task


def _check_settings(cls: type) -> None:
    """Refuse a setting of the wrong form, which would be ignored silently."""
    for name in (*INHERITED_SETTINGS, "name"):
        if isinstance(vars(cls).get(name), property):
            raise TypeError(f"{cls.__name__}.{name} is a property, but must be a plain attribute")
    if "num_workers" in vars(cls) and not callable(vars(cls)["num_workers"]):
        raise TypeError(
            f"{cls.__name__}.num_workers is an attribute, but must be a method: "
            "def num_workers(self) -> int | None"
        )


def _is_typed_base(origin: Any) -> bool:
    """Return whether a base class is one whose type arguments are the stage's input and output."""
    return isinstance(origin, type) and origin.__module__ == __name__


class ProcessingStage(Generic[In, Out]):
    """One step of a pipeline. The two type arguments are its input and output type.

    Write `process`, or `process_batch` if several tasks together are cheaper than one by one.
    """

    input_type: ClassVar[type[AnyTask]] = Task
    output_type: ClassVar[type[AnyTask]] = Task

    name: str = ""
    resources: Resources = Resources()
    batch_size: int = 1
    runtime_env: Mapping[str, Any] | None = None
    on_error: OnError | None = None
    retries: int | None = None
    timeout_s: float | None = None
    setup_timeout_s: float | None = SETUP_TIMEOUT_S
    """How long a worker may take to set up the stage. A slower worker is stopped and replaced."""

    workers_per_node: int | None = None
    """Run this many workers on each node that can hold them."""
    max_workers_per_node: int | None = None
    """Run no more workers than this on a node, for example to limit downloads."""

    worker_max_lifetime_m: float | None = None
    """Replace its workers after this many minutes. 0: never; None: as the executor is configured.

    Workers that also run other stages obey the strictest limit, and their tasks count as well.
    """
    worker_max_tasks: int | None = None
    """Replace its workers after this many tasks."""
    worker_max_rss_gb: float | None = None
    """Replace its workers when they use more memory."""

    hints: Mapping[str, Mapping[str, Any]] = {}
    fuse: bool = True
    """Whether the plan may merge it with neighbouring stages that share work."""

    writes: ClassVar[bool] = False
    """Whether it publishes files. Its outputs are then shown only after the files are published."""

    fans_out: ClassVar[bool | None] = None
    """Whether it may make several tasks from one. None: as its code suggests (see `may_fan_out`).

    Executors spread such tasks over several workers, and pass them on while others are being made.
    """

    _metrics_recorder: ClassVar[MetricsRecorder | None] = None
    """Set on instances in workers, see `attach_recorder`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_settings(cls)
        for base in getattr(cls, "__orig_bases__", ()):
            if _is_typed_base(get_origin(base)):
                taken, given = (task_type(argument) for argument in get_args(base))
                cls.input_type, cls.output_type = taken, given
        if "name" not in vars(cls) or not isinstance(vars(cls)["name"], str):
            cls.name = snake_case(cls.__name__)

    def inputs(self) -> Sequence[str]:
        """The columns that it reads."""
        return ()

    def outputs(self) -> Sequence[str]:
        """The columns that it adds."""
        return ()

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        """Return the output columns, or None if they are unknown before running."""
        return None if before is None else before | frozenset(self.outputs())

    def num_workers(self) -> int | None:
        """Return a fixed number of workers, or None to let the executor decide."""
        return None

    def makes_several(self) -> bool | None:
        """Return whether it makes several tasks from one with its options. None: see `fans_out`."""
        return None

    def check(self) -> Iterable[str]:
        """Yield the problems of its options, found before anything runs."""
        return ()

    def untrusted_code(self) -> Iterable[str]:
        """Yield options that run code from data or a model; recipes need permission for that."""
        if getattr(self, "trust_remote_code", False):
            yield "trust_remote_code runs code that comes with the model"

    def check_sources(self) -> Iterable[str]:
        """Yield sources that do not exist. Called only if the pipeline must not be empty."""
        return ()

    def check_content(self) -> Iterable[str]:
        """Yield why none of its first sources can be read. Only `curate plan` calls it."""
        return ()

    def would_read(self, path: str) -> bool:
        """Return whether a file at `path`, if it existed, would be one of its sources."""
        return False

    def fuse_with(
        self, near: "Sequence[AnyStage]", later: "Sequence[AnyStage]"
    ) -> "AnyStage | None":
        """Return the stage to run in place of this one to save work, or None to run it as it is.

        `near` are the next stages that may run in the same worker. A `FusedStage` does the work of
        this stage and of the first of them. `later` are the stages after those: a copy of this
        stage may prepare something for any of them in `task.derived`, but they must work without.
        """
        return None

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        """Return where the records that any stage drops are kept, if this stage keeps them."""
        return None

    def setup_on_node(self, node: NodeInfo) -> None:
        """Fetch what all workers of a node share. Runs once on each node, before any `setup`."""

    def setup(self, worker: WorkerInfo) -> None:
        """Load models and open connections. Runs once in each worker."""

    def process(self, task: In) -> StageResult[Out]:
        """Process one task: return a task, several, or None to drop it."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither process nor process_batch"
        )

    def process_batch(self, tasks: Sequence[In]) -> Sequence[StageResult[Out]] | Mixed[Out]:
        """Return one result for each task, in order, or `Mixed` outputs made from all of them."""
        return [self.process(task) for task in tasks]

    def teardown(self) -> None:
        """Undo `setup`. Runs once in each worker that was set up, even after a failure."""

    def log_metrics(self, values: Mapping[str, float]) -> None:
        """Report numbers about the task that is being processed: `{"tokens": 512}`.

        The run shows count, mean, minimum and maximum of each name, in `result.stages`, the report
        and Prometheus. Call it in `process` or `process_batch`, also from threads. Values of
        attempts that fail are discarded, and without a worker, in a test, only checked. A stage can
        use 100 names of letters, digits and `_`.
        """
        if self._metrics_recorder is None:
            check_metrics(values)
        else:
            self._metrics_recorder.add(values)

    def with_(self, **changes: Any) -> Self:
        """Return a copy with other settings.

        It can change name, num_workers, resources, batch_size, runtime_env, on_error, retries,
        timeout_s, setup_timeout_s, workers_per_node, max_workers_per_node, worker_max_lifetime_m,
        worker_max_tasks, worker_max_rss_gb, fuse, and hints for executors:
        `hints={"streaming": {...}}`.
        """
        unknown = sorted(set(changes) - _CHANGEABLE)
        if unknown:
            raise TypeError(
                f"with_() cannot change {', '.join(unknown)} of stage {self.name!r}; "
                f"it changes {', '.join(sorted(_CHANGEABLE))}"
            )
        changed = copy(self)
        if "num_workers" in changes:
            object.__setattr__(changed, "_num_workers", changes.pop("num_workers"))
        for field, value in changes.items():
            object.__setattr__(changed, field, value)
        return changed

    @property
    def requested_workers(self) -> int | None:
        """`num_workers()`, unless changed by `with_`."""
        if "_num_workers" in vars(self):
            fixed: int | None = vars(self)["_num_workers"]
            return fixed
        return self.num_workers()

    @property
    def works_on_batches(self) -> bool:
        return type(self).process_batch is not ProcessingStage.process_batch


AnyStage: TypeAlias = ProcessingStage[Any, Any]


def attach_recorder(stage: AnyStage, recorder: MetricsRecorder) -> None:
    """Let the recorder collect what the stage logs."""
    vars(stage)["_metrics_recorder"] = recorder  # the stage may be a frozen dataclass


def detach_recorder(stage: AnyStage) -> None:
    vars(stage).pop("_metrics_recorder", None)


class FusedStage(ProcessingStage[Any, Any]):
    """Several neighbouring stages that run as one. Plans make it; see `curator_core.plan.fusion`.

    Each member is set up and counted as if it ran alone.
    """

    def __init__(self, members: "Sequence[AnyStage]") -> None:
        self.members = tuple(members)
        self.name = self.members[0].name
        types = {
            "input_type": self.members[0].input_type,
            "output_type": self.members[-1].output_type,
        }
        vars(self).update(types)

    def process_members(self, task: AnyTask) -> "Sequence[StageResult[AnyTask]] | None":
        """Return what each member makes of the task, in order, each from the output of the last.

        None, or an exception, makes the worker run the members one after another.
        """
        return None

    def makes_several(self) -> bool:
        return any(map(may_fan_out, self.members))


class CompositeStage(ProcessingStage[In, Out]):
    """Several stages under one name, such as a reader that lists files, then reads them."""

    def decompose(self) -> Sequence[AnyStage]:
        """Return its parts, which may be composites themselves."""
        raise NotImplementedError(f"{type(self).__name__} does not define decompose")

    def parts(self) -> Sequence[AnyStage]:
        """Return `decompose()`, with the settings changed by `with_` applied to the parts."""
        changes = {name: vars(self)[name] for name in INHERITED_SETTINGS if name in vars(self)}
        if "_num_workers" in vars(self):
            changes["num_workers"] = vars(self)["_num_workers"]
        return [part.with_(**changes) if changes else part for part in self.decompose()]


def flatten(stages: Iterable[AnyStage]) -> list[AnyStage]:
    """Return the stages with every composite replaced by its parts."""
    flat: list[AnyStage] = []
    for stage in stages:
        flat += flatten(stage.parts()) if isinstance(stage, CompositeStage) else [stage]
    return flat


_COLLECTION = re.compile(r"(typing\.)?(list|List|Iterator|Iterable|Generator|Sequence|tuple)\[")
_NOTES = re.compile(r"\b(Dropped|Rejected)\b")


def may_fan_out(stage: AnyStage) -> bool:
    """Return whether a stage may make several tasks from one: as declared, or as its code suggests.

    Generators may, and so may functions annotated to return a list. A list that may hold notes
    (`Dropped`, `Rejected`) and tasks of the input type is taken for a filter's result: one task and
    its notes.
    """
    declared = stage.makes_several()
    declared = stage.fans_out if declared is None else declared
    if declared is not None:
        return declared
    function = _function_of(stage)
    if inspect.isgeneratorfunction(function):
        return True
    given = _annotation(function)
    if stage.works_on_batches and not isinstance(given, str):  # one result for each task
        given = next(iter(get_args(given)), None)
    return _is_several(given) and not (
        stage.output_type is stage.input_type and _allows_notes(given)
    )


def _function_of(stage: AnyStage) -> Any:
    function: Any = getattr(stage, "function", None)
    if function is None:
        is_plain = type(stage).process is ProcessingStage.process
        function = type(stage).process_batch if is_plain else type(stage).process
    return inspect.unwrap(function)


@cache
def _annotation(function: Any) -> Any:
    """Return the return annotation, as text if its names only exist for type checkers."""
    try:
        return get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        annotations: Mapping[str, Any] = getattr(function, "__annotations__", {})
        return annotations.get("return")


def _is_several(given: Any) -> bool:
    if isinstance(given, str):
        return _COLLECTION.match(given) is not None
    if get_origin(given) in (Union, UnionType):
        return any(_is_several(one) for one in get_args(given))
    origin = get_origin(given)
    return isinstance(origin, type) and issubclass(origin, Iterable)


def _allows_notes(given: Any) -> bool:
    if isinstance(given, str):
        return _NOTES.search(given) is not None
    return given in (Dropped, Rejected) or any(_allows_notes(one) for one in get_args(given))
