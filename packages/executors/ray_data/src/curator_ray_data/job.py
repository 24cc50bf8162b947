"""A plan as a Ray Data job, and the blocks of the job as they come."""

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core.errors import CuratorError, StageError, reason_of
from curator_ray.worker.deaths import last_line

from curator_ray_data.compat import RunningJob
from curator_ray_data.context import BlockErrors
from curator_ray_data.placement import Placement
from curator_ray_data.plan import Operator, Share
from curator_ray_data.worker import ActorStages, OperatorConfig, TaskStages

if TYPE_CHECKING:
    from ray.data import Dataset

_QUEUED_BLOCKS = 1
"""How many blocks wait for the reader; a slow reader holds the whole job up."""

_POLL_S = 0.1
_NO_TASK_RETRIES = {"max_retries": 0}
_NO_CALL_RETRIES = {"max_restarts": -1, "max_task_retries": 0}
"""Ray replaces a dead actor, but does not repeat its call: that is decided by `Recovery`."""


@dataclass(frozen=True)
class JobPart:
    """An operator of a job with all that its workers need."""

    operator: Operator
    config: OperatorConfig
    share: Share
    placement: Placement


class ActorNames:
    """Names the actors of a job, so that none of them outlives it.

    Ray would restart a dead actor after the job, without its constructor arguments, and it would
    hold its CPUs forever.
    """

    def __init__(self, run_token: str) -> None:
        self._prefix = f"curator-{run_token[:8]}-{token_hex(4)}"
        self._numbers = count()
        self._names: list[str] = []

    def next_name(self) -> str:
        name = f"{self._prefix}-{next(self._numbers)}"
        self._names.append(name)
        return name

    def call_all(self, function: Callable[[Any], None]) -> list[Any]:
        """Call a function in each living actor after its current calls.

        The calls are cancelled when the returned references are dropped.
        """
        import ray

        refs: list[Any] = []
        for name in list(self._names):
            with suppress(ValueError, AttributeError, ray.exceptions.RayError):
                refs.append(ray.get_actor(name).__ray_call__.remote(function))
        return refs

    def kill_all(self) -> None:
        import ray

        while self._names:
            with suppress(ValueError, ray.exceptions.RayError):
                ray.kill(ray.get_actor(self._names.pop()))


def build_dataset(
    blocks: Sequence[pa.Table], parts: Sequence[JobPart], names: ActorNames, *, can_grow: bool
) -> "Dataset":
    """Make a dataset of the sources, with an operator for each part.

    `can_grow`: nodes may join, so pools without a given maximum have none.
    """
    from ray.data import from_blocks

    dataset: Dataset = from_blocks(list(blocks))
    for part in parts:
        dataset = _map_batches(dataset, part, names, len(blocks), can_grow=can_grow)
    return dataset


def _map_batches(
    dataset: "Dataset", part: JobPart, names: ActorNames, blocks: int, *, can_grow: bool
) -> "Dataset":
    from ray.data import ActorPoolStrategy, TaskPoolStrategy

    operator, share = part.operator, part.share
    options = dict(share.options)
    common: dict[str, Any] = {
        "batch_size": operator.batch_size,
        "batch_format": "pyarrow",
        "zero_copy_batch": True,
        **{name: options.pop(name) for name in ("num_cpus", "num_gpus")},
    }
    if "memory" in options:
        common["memory"] = options.pop("memory")
    if not operator.needs_actors:
        return dataset.map_batches(
            TaskStages(part.config, operator.name),
            compute=TaskPoolStrategy(),
            ray_remote_args_fn=lambda: {
                **options,
                **part.placement.options(),
                **_NO_TASK_RETRIES,
            },
            **common,
        )
    return dataset.map_batches(
        _named_class(operator.name),
        fn_constructor_args=(part.config,),
        compute=ActorPoolStrategy(**pool_size(operator, share, blocks, can_grow=can_grow)),
        ray_remote_args_fn=lambda: {
            **options,
            **part.placement.options(),
            **_NO_CALL_RETRIES,
            "name": names.next_name(),
        },
        **common,
    )


def pool_size(operator: Operator, share: Share, blocks: int, *, can_grow: bool) -> dict[str, Any]:
    """Return the sizes for an `ActorPoolStrategy`: full from the start, unless there are fewer
    blocks."""
    # Ray Data counts CPUs, GPUs and memory of nodes that join, but no custom resources.
    is_limited = not can_grow or operator.concurrency or operator.resources.custom
    return {
        "min_size": share.min_workers,
        "initial_size": max(share.min_workers, min(share.start_workers, blocks)),
        "max_size": share.max_workers if is_limited else None,
    }


def _named_class(name: str) -> type[ActorStages]:
    """Make a class with the name of the stages, which Ray Data shows."""
    return type(name, (ActorStages,), {"__module__": ActorStages.__module__})


class _End:
    """Marks the end of the blocks."""


class Job:
    """A running dataset. A thread of its own pulls the blocks, so that the driver can do other
    things while none come."""

    def __init__(self, dataset: "Dataset", errors: BlockErrors) -> None:
        self._dataset: Dataset | None = dataset
        self._errors = errors
        self._blocks: queue.Queue[pa.Table | type[_End]] = queue.Queue(_QUEUED_BLOCKS)
        self._error: BaseException | None = None
        self._is_discarding = self._is_closed = False
        self._running = RunningJob(dataset)
        self._thread = threading.Thread(target=self._pull, name="curator-ray-data", daemon=True)

    def blocks(self) -> Iterator[pa.Table | None]:
        """Start the job and yield its blocks; yield None from time to time while there is none."""
        self._thread.start()
        while True:
            try:
                block = self._blocks.get(timeout=_POLL_S)
            except queue.Empty:
                self._raise_failure()
                yield None
                continue
            if isinstance(block, type):
                self._raise_failure()
                return
            yield block
            del block

    def discard_blocks(self) -> None:
        """Throw further blocks away, so that no worker waits for a reader."""
        self._is_discarding = True

    def close(self, timeout_s: float) -> bool:
        """End the job, finished or not; return whether it has ended."""
        self._is_discarding = self._is_closed = True
        if self._thread.is_alive():
            self._running.end()
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _pull(self) -> None:
        assert self._dataset is not None
        try:
            batches = self._dataset.iter_batches(
                batch_size=None, batch_format="pyarrow", prefetch_batches=0
            )
            for block in batches:
                self._put(block)
                del block
                if self._is_closed:
                    break
            del batches
        except BaseException as error:  # noqa: BLE001 - the driver's thread raises it
            self._error = error
        self._dataset = None  # it holds the actors
        self._running.forget()
        self._put(_End)

    def _put(self, block: pa.Table | type[_End]) -> None:
        while not self._is_discarding:
            with suppress(queue.Full):
                self._blocks.put(block, timeout=_POLL_S)
                return

    def _raise_failure(self) -> None:
        """Raise errors other than the loss of a worker, which the run survives."""
        errors = [*self._errors.errors, *([self._error] if self._error else [])]
        for error in errors:
            if isinstance(error, CuratorError) or not is_loss(error):
                raise _explain(error)


def is_loss(error: BaseException) -> bool:
    """Whether a worker or its data was lost, rather than that code in it failed."""
    from ray import exceptions

    if isinstance(error, exceptions.RayTaskError | exceptions.RuntimeEnvSetupError):
        return False
    return isinstance(error, exceptions.RayError)


def _explain(error: BaseException) -> CuratorError:
    if isinstance(error, CuratorError):
        return error
    cause = _cause_of(error)
    if type(cause).__name__ == "RuntimeEnvSetupError":
        reason = f"a worker could not get its runtime_env; Ray says: {last_line(str(cause))}"
    else:
        reason = reason_of(cause)
    return StageError(
        f"the Ray Data job failed: {reason}; finished sources are kept, run it again to resume",
        detail=str(error),
    )


def _cause_of(error: BaseException) -> BaseException:
    """Unwrap what Ray raised; Ray Data adds a `SystemException` that says nothing."""
    cause = getattr(error, "cause", None) or error.__cause__
    return error if cause is None or type(cause).__name__ == "SystemException" else cause
