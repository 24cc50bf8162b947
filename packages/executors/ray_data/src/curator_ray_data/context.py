"""Ray Data's settings for a job, and its log on the console."""

import logging
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from curator_core.errors import PipelineError, hint, reason_of
from curator_ray.cluster.settings import ignore_warnings

from curator_ray_data.options import IN_CONTEXT, RayDataOptions

_OURS = {
    # A dead worker costs its block; `Recovery` decides what is run again.
    "max_errored_blocks": -1,
    "max_consecutive_actor_init_deaths": 3,
    # `StallWatch` does this, and knows which stage is at work.
    "execution_no_progress_timeout_s": -1,
    "enable_auto_log_stats": False,
    "print_on_execution_start": False,
}
_LOCK = threading.RLock()
_USAGE_DISABLED = "RAY_DATA_USAGE_DISABLED"


def check_context(wanted: Mapping[str, Any]) -> None:
    """Refuse fields that Ray Data's context does not have, and those that this executor sets."""
    from ray.data import DataContext

    with ignore_warnings():  # about Ray Data's own defaults
        current = DataContext.get_current()
    known = [name for name in vars(current) if not name.startswith("_")]
    problems = [
        f"Ray Data's context has no field {name!r}{hint(name, known)}"
        for name in wanted
        if name not in known
    ]
    if "max_errored_blocks" in wanted:
        problems.append("context: the executor itself sets 'max_errored_blocks'; leave it out")
    if problems:
        raise PipelineError(problems)


@contextmanager
def context_for(options: RayDataOptions, excluded_cpus: float = 0.0) -> Iterator[None]:
    """Set up Ray Data's context for datasets that are made meanwhile, and restore it afterwards.

    `excluded_cpus`: CPUs of the cluster that the job cannot use.
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
            if excluded_cpus and "cpu" not in limits:
                execution.exclude_resources = ExecutionResources(cpu=excluded_cpus)
        before = {name: getattr(current, name) for name in wanted}
        _set(current, wanted)
        try:
            yield
        finally:
            _set(current, before)


def _set(context: Any, values: Mapping[str, Any]) -> None:
    for name, value in values.items():
        setattr(context, name, value)


@contextmanager
def usage_not_reported() -> Iterator[None]:
    """Switch Ray Data's usage reports off. They take an actor, and a thread that looks for a
    Prometheus server, which a private cluster does not have."""
    if _USAGE_DISABLED in os.environ:
        yield
        return
    os.environ[_USAGE_DISABLED] = "1"
    try:
        yield
    finally:
        os.environ.pop(_USAGE_DISABLED, None)


class BlockErrors(logging.Handler):
    """Collects the errors of lost blocks, which Ray Data only writes to its log."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            record.exc_text = record.exc_text or reason_of(error)
            record.exc_info = None  # other handlers may keep the record
            _clear_tracebacks(error)
            self.errors.append(error)


def _clear_tracebacks(error: BaseException | None) -> None:
    """Drop the frames, which hold Ray Data's executor and through it the actors."""
    while error is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


@contextmanager
def log_to_file_only(*, verbose: bool) -> Iterator[BlockErrors]:
    """Keep Ray Data's log off the console unless `verbose`; its log file stays complete."""
    logger = logging.getLogger("ray.data")
    errors = BlockErrors()

    def hide(record: logging.LogRecord) -> bool:
        return False

    consoles = [] if verbose else [h for h in logger.handlers if _is_console(h)]
    for console in consoles:
        console.addFilter(hide)
    logger.addHandler(errors)
    try:
        with ignore_warnings(r"ray\.data"):
            yield errors
    finally:
        logger.removeHandler(errors)
        for console in consoles:
            console.removeFilter(hide)


def _is_console(handler: logging.Handler) -> bool:
    return isinstance(handler, logging.StreamHandler) and not isinstance(
        handler, logging.FileHandler
    )
