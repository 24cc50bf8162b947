"""Run session: open the run, iterate over its outputs, close it."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from curator_core.errors import (
    BudgetError,
    CuratorError,
    OutputError,
    RemovedInputsError,
    RunInterrupted,
    StageError,
)
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Executor
from curator_core.plan.plan import Plan, any_appends, outputs_of
from curator_core.run.directory import default_run_dir
from curator_core.run.input_changes import InputPolicy
from curator_core.run.observers import observe
from curator_core.run.options import RunOptions
from curator_core.run.progress_log import ProgressLog
from curator_core.run.result import RunResult
from curator_core.run.run import ActiveRun
from curator_core.run.signals import stop_on_signals
from curator_core.run.sources import listing_for, refuse_no_reader
from curator_core.run.store import DirectoryStore, NoStore, RunStore


class RunStream(Iterator[AnyTask]):
    """Yields the output tasks of a run as they finish; counts are in `result`."""

    def __init__(
        self, run: ActiveRun, executor: Executor, why: str, at_end: ExitStack | None = None
    ) -> None:
        """`at_end` is closed when the stream ends or is closed."""
        self.run = run
        self._at_end = at_end or ExitStack()
        self._flow = _outputs(run, executor, why, self._at_end)

    @property
    def result(self) -> RunResult:
        return self.run.result

    def __next__(self) -> AnyTask:
        return next(self._flow)

    def close(self) -> None:
        """Stop the run gracefully; finished work is kept."""
        self._flow.close()
        self._at_end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _outputs(
    run: ActiveRun, executor: Executor, why: str, at_end: ExitStack
) -> Generator[AnyTask, None, None]:
    has_begun = False
    try:
        run.start(type(executor).__name__, why)
        has_begun = True
        with stop_on_signals(run.stopping):
            yield from executor.execute(run.plan, run)
            run.finish()
    except (RunInterrupted, RemovedInputsError):
        raise
    except KeyboardInterrupt:
        raise run.interrupted_at_once() from None
    except CuratorError as error:
        run.fail("failed")
        raise _add_run_facts(error, run, has_begun=has_begun) from error.__cause__
    except BaseException as error:
        run.fail("closed" if isinstance(error, GeneratorExit) else "failed")
        raise
    finally:
        at_end.close()


def _add_run_facts(error: CuratorError, run: ActiveRun, *, has_begun: bool) -> CuratorError:
    """Complete an error with facts about the run."""
    if isinstance(error, StageError):
        return run.add_source_label(error)
    if isinstance(error, BudgetError):
        error.result = run.result
    elif isinstance(error, OutputError) and has_begun:
        error.exit_code = StageError.exit_code
    return error


def open_stream(
    plan: Plan,
    executor: Executor,
    tasks: Sequence[AnyTask] | None,
    run_dir: str | None,
    options: RunOptions,
) -> RunStream:
    """Open the run directory, and return a stream that closes it at the end."""
    policy = InputPolicy.of(options.get("removed_inputs", "stop"))
    observers, progress = options.get("observers", ()), options.get("progress", True)
    observation = observe(observers, ProgressLog(), progress=progress)
    at_end = ExitStack()
    at_end.callback(observation.end)
    try:
        if tasks is None:
            refuse_no_reader(plan)
        store = _open_store(plan, executor, run_dir, options, at_end)
        at_end.callback(store.close)
        kept, appends = store.run_dir is not None, any_appends(outputs_of(plan))
        listing = listing_for(plan, tasks, store.token, kept=kept, appends=appends)
        run = ActiveRun(plan, listing, store, policy)
        name, storage_options = type(executor).__name__, options.get("storage_options")
        observation.watch(run, name, storage_options)
    except BaseException:
        at_end.close()
        raise
    return RunStream(run, executor, executor.why_chosen, at_end)


def _open_store(
    plan: Plan, executor: Executor, run_dir: str | None, options: RunOptions, end: ExitStack
) -> RunStore:
    """Return the keeper of the run.

    If it replaces an earlier run, the executor stays connected until `end` is closed.
    """
    run_dir = run_dir or default_run_dir(plan, outputs_of(plan))
    if run_dir is None:
        return NoStore()
    return DirectoryStore(
        plan,
        run_dir,
        executor=type(executor).__name__,
        resume=options.get("resume", True),
        storage_options=options.get("storage_options"),
        shared=options.get("shared", False),
        prepare=lambda: end.enter_context(executor.connect(plan)),
    )
