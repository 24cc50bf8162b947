"""Contexts: what Ray Data is told about a job, and what of its talk is kept from the user."""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from curator_core.errors import PipelineError, hint, reason_of
from curator_ray.cluster.settings import ignore_warnings

from curator_ray_data.insides import consoles, deaths_untold, is_progress
from curator_ray_data.options import IN_CONTEXT, RayDataOptions

_OURS = {
    # A worker that dies costs its block, and we say what becomes of that.
    "max_errored_blocks": -1,
    "max_consecutive_actor_init_deaths": 3,
    # A stage may take as long as its timeout_s says, or for ever.
    "execution_no_progress_timeout_s": -1,
    "enable_auto_log_stats": False,
    "print_on_execution_start": False,
}
_LOCK = threading.RLock()


def check_context(wanted: Mapping[str, Any]) -> None:
    """Refuse what is no field of Ray Data's context, or is ours to set."""
    from ray.data import DataContext

    with ignore_warnings():  # it warns of its own defaults
        current = DataContext.get_current()
    known = [name for name in vars(current) if not name.startswith("_")]
    problems = [
        f"Ray Data's context has no field {name!r}{hint(name, known)}"
        for name in wanted
        if name not in known
    ]
    problems += [
        f"context: {name!r} is set by the Ray Data executor, which needs it as it is"
        for name in wanted
        if name == "max_errored_blocks"
    ]
    if problems:
        raise PipelineError(problems)


@contextmanager
def context_for(options: RayDataOptions, idle_cpus: float = 0.0) -> Iterator[None]:
    """Datasets that are made meanwhile take these settings along; the caller's stay as they are.

    `idle_cpus`: how many of the cluster's are not to be counted on.
    """
    from ray.data import DataContext, ExecutionOptions, ExecutionResources

    with _LOCK, ignore_warnings():
        current = DataContext.get_current()
        wanted: dict[str, Any] = {n: v for n, v in _OURS.items() if hasattr(current, n)}
        wanted |= {"enable_progress_bars": options.verbose_progress, **options.context}
        for name in IN_CONTEXT:
            if getattr(options, name) is not None:
                wanted[name] = getattr(options, name)
        if "execution_options" not in options.context:
            limits = {name: float(amount) for name, amount in options.resource_limits.items()}
            execution = wanted["execution_options"] = ExecutionOptions(
                resource_limits=ExecutionResources.for_limits(**limits),
                preserve_order=options.preserve_order,
                verbose_progress=options.verbose_progress,
            )
            if idle_cpus and "cpu" not in limits:
                execution.exclude_resources = ExecutionResources(cpu=idle_cpus)
        before = {name: getattr(current, name) for name in wanted}
        _set(current, wanted)
        try:
            yield
        finally:
            _set(current, before)


def _set(context: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(context, name, value)


class Overheard(logging.Handler):
    """The errors of blocks that Ray Data goes on without: it only writes them into its log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            record.exc_text = record.exc_text or reason_of(error)
            record.exc_info = None  # others may keep the record
            _let_go(error)
            self.errors.append(error)


def _let_go(error: BaseException | None) -> None:
    """Drop the frames: they hold Ray Data's executor, and that holds its actors."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


@contextmanager
def quietly(*, shows_progress: bool) -> Iterator[Overheard]:
    """Keep Ray Data from talking on the console; its log file stays complete."""
    logger = logging.getLogger("ray.data")
    overheard = Overheard()

    def lets_pass(record: logging.LogRecord) -> bool:
        return shows_progress and (record.levelno >= logging.ERROR or is_progress(record))

    shown = consoles()
    for console in shown:
        console.addFilter(lets_pass)
    logger.addHandler(overheard)
    try:
        with ignore_warnings(r"ray\.data"), deaths_untold():
            yield overheard
    finally:
        logger.removeHandler(overheard)
        for console in shown:
            console.removeFilter(lets_pass)
