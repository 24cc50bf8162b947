"""Jobs: a plan as a dataset of Ray Data, and its blocks as they come."""

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from curator_core.errors import CuratorError, StageError, reason_of
from curator_ray.worker.deaths import last_line

from curator_ray_data.contexts import Overheard
from curator_ray_data.crowding import Crowding, cluster_cpus
from curator_ray_data.hosting import InActors, InTasks, Ticket
from curator_ray_data.hushing import restarts_unmentioned
from curator_ray_data.insides import Execution
from curator_ray_data.operators import Operator
from curator_ray_data.rolls import Roll
from curator_ray_data.sharing import Share
from curator_ray_data.siting import Site

if TYPE_CHECKING:
    from ray.data import Dataset

_AHEAD = 1
"""How many blocks wait for whoever takes the outputs, besides the one that is being taken."""

_LOOK_EVERY_S = 0.1
_BEGIN_PATIENCE_S = 5.0
_NO_RETRIES = {"max_retries": 0}
_NO_CALL_TWICE = {"max_restarts": -1, "max_task_retries": 0}
"""A worker that dies is replaced, but what it had in hand is not given to another by Ray itself:
whoever reads the outputs decides what is tried again, and how often."""


@dataclass(frozen=True)
class Part:
    """An operator of the job, with what its workers are told, get, and where they may be."""

    operator: Operator
    ticket: Ticket
    share: Share
    site: Site


def dataset_of(blocks: Sequence[pa.Table], parts: Sequence[Part], roll: Roll) -> "Dataset":
    """The job: sources as blocks, and an operator for each group of stages."""
    from ray.data import from_blocks

    dataset: Dataset = from_blocks(list(blocks))
    for part in parts:
        dataset = _mapped(dataset, part, roll)
    return dataset


def _mapped(dataset: "Dataset", part: Part, roll: Roll) -> "Dataset":
    from ray.data import ActorPoolStrategy, TaskPoolStrategy

    operator, ticket, share = part.operator, part.ticket, part.share
    options = dict(share.options)
    common: dict[str, Any] = {
        "batch_size": operator.batch_size,
        "batch_format": "pyarrow",
        "zero_copy_batch": True,
        **{name: options.pop(name) for name in ("num_cpus", "num_gpus")},
    }
    if "memory" in options:
        common["memory"] = options.pop("memory")
    if operator.needs_actors:
        return dataset.map_batches(
            _named(InActors, operator.name),
            fn_constructor_args=(ticket,),
            compute=ActorPoolStrategy(min_size=share.fewest, max_size=share.most),
            ray_remote_args_fn=lambda: roll.options(
                {**options, **part.site.options(), **_NO_CALL_TWICE}
            ),
            **common,
        )
    return dataset.map_batches(
        InTasks(ticket, operator.name),
        compute=TaskPoolStrategy(),
        ray_remote_args_fn=lambda: {**options, **part.site.options(), **_NO_RETRIES},
        **common,
    )


def _named(kind: type[InActors], name: str) -> type[InActors]:
    """A class by the name of its stages: Ray Data shows it."""
    return type(name, (kind,), {"__module__": kind.__module__})


class _End:
    """Nothing more will come."""


class Job:
    """A running dataset. A thread of its own takes its blocks, a few ahead and no more.

    So the run is looked after while nothing comes, and a slow reader holds the whole job up.
    """

    def __init__(self, dataset: "Dataset", overheard: Overheard) -> None:
        self._dataset: Dataset | None = dataset
        self._overheard = overheard
        self._blocks: queue.Queue[pa.Table | type[_End]] = queue.Queue(_AHEAD)
        self._error: BaseException | None = None
        self._is_dropped = self._is_left = False
        self._execution = Execution(dataset)
        self._crowding = Crowding(self._execution, cluster_cpus)
        self._thread = threading.Thread(target=self._pull, name="curator-ray-data", daemon=True)

    def blocks(self) -> Iterator[pa.Table | None]:
        """Begin, and give its blocks as they come; None now and then, while there is none."""
        with restarts_unmentioned():
            self._thread.start()
            self._execution.has_begun.wait(_BEGIN_PATIENCE_S)
        while True:
            try:
                block = self._blocks.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                self._look_for_failure()
                yield None
                continue
            if isinstance(block, type):
                self._look_for_failure()
                return
            yield block
            del block

    def let_grow(self, most: Sequence[int]) -> None:
        """How many actors each of its pools may have from now on."""
        self._execution.let_grow(most)

    def drop(self) -> None:
        """Let nothing more out: workers are not to wait for somebody who takes it."""
        self._is_dropped = True

    def leave(self, patience_s: float) -> bool:
        """End it, whatever is still to be done; whether it has ended."""
        self._is_dropped = self._is_left = True
        if self._thread.is_alive():
            self._execution.end()
            self._thread.join(patience_s)
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
                if self._is_left:
                    break
            del batches
        except BaseException as error:  # noqa: BLE001 - it goes to the thread that is to see it
            self._error = error
        self._dataset = None  # and with it the actors
        self._execution.forget()
        self._put(_End)

    def _put(self, block: pa.Table | type[_End]) -> None:
        began = time.monotonic()
        while not self._is_dropped:
            with suppress(queue.Full):
                self._blocks.put(block, timeout=_LOOK_EVERY_S)
                return
            self._crowding.look(time.monotonic() - began)

    def _look_for_failure(self) -> None:
        """Workers that die are to be expected; all else that goes wrong ends the run."""
        errors = [*self._overheard.errors, *([self._error] if self._error else [])]
        for error in errors:
            if isinstance(error, CuratorError) or not is_loss(error):
                raise _explained(error)


def is_loss(error: BaseException) -> bool:
    """Whether a worker or its data is gone, which is no mistake of the code that ran there."""
    from ray import exceptions

    if isinstance(error, exceptions.RayTaskError | exceptions.RuntimeEnvSetupError):
        return False
    return isinstance(error, exceptions.RayError)


def _explained(error: BaseException) -> CuratorError:
    if isinstance(error, CuratorError):
        return error
    cause = _cause_of(error)
    if type(cause).__name__ == "RuntimeEnvSetupError":
        reason = f"a worker could not get its runtime_env; Ray says: {last_line(str(cause))}"
    else:
        reason = reason_of(cause)
    return StageError(
        f"the Ray Data job cannot go on: {reason}; what is finished is kept, and the same command "
        "does the rest",
        detail=str(error),
    )


def _cause_of(error: BaseException) -> BaseException:
    """Ray wraps what went wrong; Ray Data puts a word behind it that says nothing."""
    behind = getattr(error, "cause", None) or error.__cause__
    return error if behind is None or type(behind).__name__ == "SystemException" else behind
