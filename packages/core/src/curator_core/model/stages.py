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

from curator_core.model.policies import SETUP_TIMEOUT_S, OnError
from curator_core.model.resources import NodeInfo, Resources, WorkerInfo
from curator_core.model.tasks import AnyTask, Dropped, Mixed, Rejected, StagedFile, Task


class DropSink(ABC):
    """Collects what the stages of one call dropped, in files published with everything else."""

    @abstractmethod
    def add(self, stage: str, reason: str, records: AnyTask) -> None:
        """Keep `records`, which `stage` dropped for `reason`."""

    @abstractmethod
    def finish(self, call_id: str) -> list[StagedFile]:
        """Write what is left; the names of the files follow from `call_id` alone."""


In = TypeVar("In", bound=AnyTask)
Out = TypeVar("Out", bound=AnyTask)

Given: TypeAlias = Out | Dropped | Rejected | Iterable[Out | Dropped | Rejected] | None
"""What `process` may return: a task, several (a list or a generator), or None to drop the task."""


HANDED_DOWN = (
    "resources",
    "batch_size",
    "runtime_env",
    "on_error",
    "retries",
    "timeout_s",
    "setup_timeout_s",
    "hints",
)
"""Settings that a composite gives to the stages it is made of."""

_CHANGEABLE = frozenset({"name", "num_workers", *HANDED_DOWN})


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def task_type(argument: Any) -> type[AnyTask]:
    found = get_origin(argument) or argument
    if isinstance(found, TypeVar):
        found = found.__bound__
        found = get_origin(found) or found
    return found if isinstance(found, type) and issubclass(found, Task) else Task


def _refuse_misplaced(cls: type) -> None:
    """A setting in the wrong shape would be ignored in silence, so it is refused here."""
    for name in (*HANDED_DOWN, "name"):
        if isinstance(vars(cls).get(name), property):
            raise TypeError(f"{cls.__name__}.{name} is a property, but must be a plain attribute")
    if "num_workers" in vars(cls) and not callable(vars(cls)["num_workers"]):
        raise TypeError(
            f"{cls.__name__}.num_workers is an attribute, but must be a method: "
            "def num_workers(self) -> int | None"
        )


def _says_what_it_takes(origin: Any) -> bool:
    """Whether a base's two type arguments are what a stage takes and gives."""
    return isinstance(origin, type) and origin.__module__ == __name__


class ProcessingStage(Generic[In, Out]):
    """One step of a pipeline. Its two type arguments say what it takes and what it gives.

    Write `process`, or `process_batch` where several tasks together are cheaper than one by one.
    """

    takes: ClassVar[type[AnyTask]] = Task
    gives: ClassVar[type[AnyTask]] = Task

    name: str = ""
    resources: Resources = Resources()
    batch_size: int = 1
    runtime_env: Mapping[str, Any] | None = None
    on_error: OnError | None = None
    retries: int | None = None
    timeout_s: float | None = None
    setup_timeout_s: float | None = SETUP_TIMEOUT_S
    """How long a worker may take to set it up; one that takes longer is ended, and others try."""

    hints: Mapping[str, Mapping[str, Any]] = {}

    writes: ClassVar[bool] = False
    """Whether it publishes files: what it gives is then shown only when the files are in place."""

    fans_out: ClassVar[bool | None] = None
    """Whether it may make several tasks of one; None: a generator may, or what returns a list.

    Executors let several workers take such tasks on, and take them while others are being made.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _refuse_misplaced(cls)
        for base in getattr(cls, "__orig_bases__", ()):
            if _says_what_it_takes(get_origin(base)):
                taken, given = (task_type(argument) for argument in get_args(base))
                cls.takes, cls.gives = taken, given
        if "name" not in vars(cls) or not isinstance(vars(cls)["name"], str):
            cls.name = snake_case(cls.__name__)

    def inputs(self) -> Sequence[str]:
        """The columns that it reads."""
        return ()

    def outputs(self) -> Sequence[str]:
        """The columns that it adds."""
        return ()

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        """The columns of what it gives; None where that cannot be known before running."""
        return None if before is None else before | frozenset(self.outputs())

    def num_workers(self) -> int | None:
        """A fixed number of workers, or None to let the executor decide."""
        return None

    def makes_several(self) -> bool | None:
        """Whether it may make several tasks of one as it is configured; None: see `fans_out`."""
        return None

    def check(self) -> Iterable[str]:
        """What is wrong with it as it is configured, found before anything runs."""
        return ()

    def untrusted_code(self) -> Iterable[str]:
        """What would run code that comes with data or a model: recipes need leave for that."""
        if getattr(self, "trust_remote_code", False):
            yield "trust_remote_code runs code that comes with the model"

    def check_sources(self) -> Iterable[str]:
        """What it will not find. Asked only where a pipeline must not be empty."""
        return ()

    def would_read(self, path: str) -> bool:
        """Whether a file at `path`, once it is there, would be one of its sources."""
        return False

    def followed_by(self, stages: "Sequence[AnyStage]") -> Self:
        """The stage as it should be with these behind it, such as one that saves them work.

        What it works out for them goes into `task.derived`. They may still run elsewhere, and
        then have to do without.
        """
        return self

    def drop_sink(self, worker: WorkerInfo) -> DropSink | None:
        """Where the records go that any stage drops, for a stage that keeps them."""
        return None

    def setup_on_node(self, node: NodeInfo) -> None:
        """Fetch what all workers of a node share. Runs once on each node, before any `setup`."""

    def setup(self, worker: WorkerInfo) -> None:
        """Load models and open connections. Runs once in each worker."""

    def process(self, task: In) -> Given[Out]:
        """Return what becomes of one task: a task, several, or None to drop it."""
        raise NotImplementedError(
            f"{type(self).__name__} defines neither process nor process_batch"
        )

    def process_batch(self, tasks: Sequence[In]) -> Sequence[Given[Out]] | Mixed[Out]:
        """Return one result for each task, in order, or `Mixed` outputs made of all of them."""
        return [self.process(task) for task in tasks]

    def teardown(self) -> None:
        """Undo `setup`. Runs once in each worker that was set up, however its work ended."""

    def with_(self, **changes: Any) -> Self:
        """A changed copy: name, resources, batch_size, num_workers, runtime_env, on_error,
        retries, timeout_s, or hints for one executor (`hints={"streaming": {...}}`)."""
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
    def wants_workers(self) -> int | None:
        """`num_workers()`, unless `with_` said otherwise."""
        if "_num_workers" in vars(self):
            fixed: int | None = vars(self)["_num_workers"]
            return fixed
        return self.num_workers()

    @property
    def works_on_batches(self) -> bool:
        return type(self).process_batch is not ProcessingStage.process_batch


AnyStage: TypeAlias = ProcessingStage[Any, Any]


class CompositeStage(ProcessingStage[In, Out]):
    """Several stages under one name, such as a reader that lists files, then reads them."""

    def decompose(self) -> Sequence[AnyStage]:
        """The stages it stands for. They may be composites themselves."""
        raise NotImplementedError(f"{type(self).__name__} does not define decompose")

    def parts(self) -> Sequence[AnyStage]:
        """`decompose()`, with what `with_` changed on the composite handed down."""
        changes = {name: vars(self)[name] for name in HANDED_DOWN if name in vars(self)}
        if "_num_workers" in vars(self):
            changes["num_workers"] = vars(self)["_num_workers"]
        return [part.with_(**changes) if changes else part for part in self.decompose()]


def flatten(stages: Iterable[AnyStage]) -> list[AnyStage]:
    """The stages with every composite replaced by its parts."""
    flat: list[AnyStage] = []
    for stage in stages:
        flat += flatten(stage.parts()) if isinstance(stage, CompositeStage) else [stage]
    return flat


_SEVERAL = re.compile(r"(typing\.)?(list|List|Iterator|Iterable|Generator|Sequence|tuple)\[")
_NOTES = re.compile(r"\b(Dropped|Rejected)\b")


def may_fan_out(stage: AnyStage) -> bool:
    """What the stage says of itself; else what its code says.

    A generator may, and so may what is annotated to return a list. A list that has room for notes
    and for the very type of task that went in is a filter's: the task, and what it left out.
    """
    said = stage.makes_several()
    said = stage.fans_out if said is None else said
    if said is not None:
        return said
    function = _function_of(stage)
    if inspect.isgeneratorfunction(function):
        return True
    given = _annotation(function)
    if stage.works_on_batches and not isinstance(given, str):  # a row of results, one for each task
        given = next(iter(get_args(given)), None)
    return _is_several(given) and not (stage.gives is stage.takes and _has_notes(given))


def _function_of(stage: AnyStage) -> Any:
    function: Any = getattr(stage, "function", None)
    if function is None:
        is_plain = type(stage).process is ProcessingStage.process
        function = type(stage).process_batch if is_plain else type(stage).process
    return inspect.unwrap(function)


@cache
def _annotation(function: Any) -> Any:
    """What it is said to return: as text where its names are only known to a type checker."""
    try:
        return get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        annotations: Mapping[str, Any] = getattr(function, "__annotations__", {})
        return annotations.get("return")


def _is_several(given: Any) -> bool:
    if isinstance(given, str):
        return _SEVERAL.match(given) is not None
    if get_origin(given) in (Union, UnionType):
        return any(_is_several(one) for one in get_args(given))
    origin = get_origin(given)
    return isinstance(origin, type) and issubclass(origin, Iterable)


def _has_notes(given: Any) -> bool:
    if isinstance(given, str):
        return _NOTES.search(given) is not None
    return given in (Dropped, Rejected) or any(_has_notes(one) for one in get_args(given))
