"""Insides: what is touched of Ray beyond what Ray Data promises. A new version is looked at here.

Where something looks other than it did, it is left alone; each says what is lost then.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

Undo = Callable[[], None]

RESERVING = tuple(
    f"ray.data._internal.cluster_autoscaler.{module}"
    for module in ("rate_based_cluster_autoscaler", "default_cluster_autoscaler_v2")
)
COUNTING = "ray.data._internal.stats"
_RUNNING = "StreamingExecutor-"
_PROGRESS = "ray.data._internal.progress"
_DEATH = "^A worker died or was killed while executing a task"


def instead_of_reserving(made: Callable[..., Any]) -> list[Undo]:
    """What makes the actor that knows which resources are for whom; else that is started."""
    return [
        undo
        for module in RESERVING
        for undo in _replaced(module, "DefaultAutoscalingCoordinator", made)
    ]


def instead_of_counting(made: Callable[..., Any]) -> list[Undo]:
    """What makes the actor that collects figures for a dashboard; else that is started."""
    return _replaced(COUNTING, "get_or_create_stats_actor", made)


def _replaced(where: str, name: str, stand_in: Callable[..., Any]) -> list[Undo]:
    with suppress(ImportError, AttributeError):
        module = import_module(where)
        before = getattr(module, name)
        setattr(module, name, stand_in)
        return [partial(setattr, module, name, before)]
    return []


class Execution:
    """What runs a dataset, known as soon as that is made: nothing else ends a job at once.

    Else a job ends with its last block.
    """

    def __init__(self, dataset: Any) -> None:
        self.has_begun = threading.Event()
        """Whether its first actors are asked for; also where nobody can tell."""
        self._executors: list[Any] = []
        makes = getattr(dataset, "_create_executor", None)
        if makes is None:
            self.has_begun.set()
        else:
            dataset._create_executor = partial(self._create, dataset, makes)  # noqa: SLF001

    def end(self) -> None:
        """Without waiting for anybody."""
        for executor in self._executors:
            executor.shutdown(force=False)

    def let_grow(self, most: Sequence[int]) -> None:
        """How many actors each of its pools may have; where nobody can tell they stay as large."""
        for executor in self._executors:
            with suppress(AttributeError, TypeError, ValueError):
                topology = executor._topology  # noqa: SLF001
                pools = [pool for one in topology for pool in one.get_autoscaling_actor_pools()]
                for pool, size in zip(pools, most, strict=True):
                    pool._config = replace(pool._config, max_size=size)  # noqa: SLF001

    def forget(self) -> None:
        """It is over: what ran it holds its actors."""
        self._executors.clear()
        self.has_begun.set()

    @property
    def cpus_held(self) -> float:
        """By its actors and calls; none where nobody can tell."""
        held = 0.0
        for executor in self._executors:
            with suppress(AttributeError, AssertionError):
                held += executor._resource_manager.get_global_usage().cpu  # noqa: SLF001
        return held

    @property
    def has_company(self) -> bool:
        """Whether another dataset is run by this process; no where nobody can tell."""
        running = [one for one in threading.enumerate() if one.name.startswith(_RUNNING)]
        return any(one not in self._executors for one in running)

    def _create(self, dataset: Any, makes: Callable[[], Any]) -> Any:
        del dataset._create_executor  # noqa: SLF001 - or it would hold itself
        executor = makes()
        self._executors.append(executor)
        executor.execute = partial(self._execute, executor, executor.execute)
        return executor

    def _execute(self, executor: Any, begins: Callable[..., Any], *given: Any, **named: Any) -> Any:
        del executor.execute
        try:
            return begins(*given, **named)
        finally:
            self.has_begun.set()


def is_progress(record: logging.LogRecord) -> bool:
    """Whether it stands for bars, where there is no terminal to draw them on; else it is hidden."""
    return record.name.startswith(_PROGRESS)


def consoles() -> list[logging.Handler]:
    """What shows the log of Ray Data to the user; else it is shown."""
    handlers = logging.getLogger("ray.data").handlers
    return [handler for handler in handlers if type(handler).__name__ == "PlainRayHandler"]


@contextmanager
def deaths_untold() -> Iterator[None]:
    """Ray prints a paragraph to stdout for each worker that dies; a run tells of it by itself."""
    from ray._private import ray_logging

    printed: Any = getattr(ray_logging, "stdout_deduplicator", None)
    before = getattr(printed, "skip_re", None)
    if printed is not None:
        patterns = [before.pattern, _DEATH] if before else [_DEATH]
        printed.skip_re = re.compile("|".join(patterns))
    try:
        yield
    finally:
        if printed is not None:
            printed.skip_re = before
