"""Workflows: several pipelines with files between them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from curator_core.errors import PipelineError, ResumeError, RunInterrupted
from curator_core.io.filesystems import base_name, full_path, join, open_filesystem
from curator_core.logs import log
from curator_core.pipeline import Pipeline
from curator_core.plan.executor import Executor
from curator_core.plan.stop_request import StopRequest
from curator_core.run.input_changes import InputPolicy, RemovedInputs
from curator_core.run.locks import Home, take_home
from curator_core.run.result import RunResult
from curator_core.run.signals import signals_noted

_log = log("curator_core.workflow")


@dataclass
class WorkflowResult:
    """The results of a workflow's pipelines by name, and what the workflow says besides."""

    runs: dict[str, RunResult] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    report: str | None = None
    """Where a page about the result is, if there is one."""

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.runs.values())

    @property
    def did_nothing(self) -> bool:
        """Whether all of it had been done before."""
        return not any(result.sources_done for result in self.runs.values())

    def to_json(self) -> dict[str, Any]:
        """Everything but the tasks themselves."""
        return {
            "seconds": round(self.seconds, 3),
            "did_nothing": self.did_nothing,
            "metadata": self.metadata,
            "report": self.report,
            "runs": {name: result.to_json() for name, result in self.runs.items()},
        }


class Workflow(ABC):
    """Pipelines that build on each other's files.

    Each keeps its run in the work directory, so that a workflow killed at any moment goes on with
    the pipeline it was in, and a finished one does nothing.
    """

    name: ClassVar[str] = "workflow"

    written_by: ClassVar[str | None] = None
    """The pipeline that writes the result; the last one unless named."""

    work_option: ClassVar[str] = "work_dir"
    """The option that gives another work directory, for messages."""

    @property
    @abstractmethod
    def work_dir(self) -> str:
        """Where files between the pipelines, and their runs, are kept."""

    @property
    def storage_options(self) -> dict[str, Any]:
        """How the work directory's file system is reached."""
        return {}

    @abstractmethod
    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        """Yield the pipelines in order. Each has been run when the generator is resumed, so the
        next one may be made from what `result` says of it."""

    def homes(self) -> Iterable[Home]:
        """The folders that no other may use meanwhile: the work directory, and what is shared."""
        yield Home(self.work_dir, "work directory", self.work_option)

    def check(self) -> Iterable[str]:
        """What is wrong with the options, before anything runs."""
        return ()

    def check_sources(self) -> Iterable[str]:
        """What is wrong with the input. Not asked where there may be none."""
        return ()

    def run(
        self,
        executor: Executor | str | None = None,
        *,
        resume: bool = True,
        allow_empty: bool = False,
        removed_inputs: RemovedInputs | InputPolicy = "stop",
        shared: bool = False,
    ) -> WorkflowResult:
        """Run what is left of it, what is in quarantine included.

        Where input files of an earlier run are gone but their output is still there, nothing is
        written (RemovedInputsError) unless `removed_inputs` is "prune", which deletes that output,
        or "keep". With `shared`, the group of the work directory may resume the run too.

        Two at a time in one work directory are refused, and so is one in that of another.
        """
        policy = self._input_policy(InputPolicy.of(removed_inputs))
        self.refuse_problems(allow_empty=allow_empty)
        result = WorkflowResult()
        with ExitStack() as held:
            locks = []
            for home in self.homes():
                locks.append(take_home(home, self.storage_options, shared=shared))
                held.callback(locks[-1].release)
            self._refuse_others()
            stopping = StopRequest()
            with signals_noted(stopping), self._told_unfinished(result):
                for pipeline in self.pipelines(result):
                    self._refuse_repeated(pipeline.name, result)
                    _heed(stopping, result)
                    chosen = replace(pipeline, allow_empty=pipeline.allow_empty or allow_empty)
                    result.runs[pipeline.name] = self._run(chosen, executor, resume, policy, shared)
                    for lock in locks:
                        lock.check()
            result.report = self.write_report(result)
        return result

    def _input_policy(self, policy: InputPolicy) -> InputPolicy:
        """Files in between come and go, and tell of documents by the names of their files."""
        places = (open_filesystem(home.path, self.storage_options) for home in self.homes())
        own = tuple(full_path(fs, path) for fs, path in places)
        return replace(policy, own_folders=own, depends_on_names=True)

    def _run(
        self,
        pipeline: Pipeline,
        executor: Executor | str | None,
        resume: bool,
        policy: InputPolicy,
        shared: bool,
    ) -> RunResult:
        """Run what is left of it; what was in quarantine before is tried again."""
        run_dir = join(self.work_dir, ".curator", self.name, pipeline.name)
        done = pipeline.run(
            executor, run_dir=run_dir, resume=resume, removed_inputs=policy, shared=shared
        )
        if done.sources_skipped and any(r.is_worth_retrying for r in done.quarantined):
            return pipeline.retry(run_dir, executor, storage_options=self.storage_options)
        return done

    @contextmanager
    def _told_unfinished(self, result: WorkflowResult) -> Iterator[None]:
        """Leave a page beside the files in between where it ends before it is done."""
        from curator_core.reporting.unfinished import remove_unfinished, write_unfinished

        try:
            yield
        except BaseException as error:
            page = write_unfinished(
                self.name, result.runs, error, self.work_dir, self.storage_options
            )
            if page is not None:
                _log.warning("%s: what is done, and how to go on: %s", self.name, page)
            raise
        remove_unfinished(self.work_dir, self.storage_options)

    def final_run(self, result: WorkflowResult) -> RunResult:
        """Return the result of the pipeline that wrote the output."""
        runs = result.runs
        name = self.written_by if self.written_by in runs else next(reversed(runs), None)
        return RunResult() if name is None else runs[name]

    def write_report(self, result: WorkflowResult) -> str | None:
        """Write a page about the result, for workflows that have one; where it is."""
        return None

    def refuse_problems(self, *, allow_empty: bool = False) -> None:
        """Raise all that is wrong, at once."""
        problems = [*self.check(), *(() if allow_empty else self.check_sources())]
        if problems:
            raise PipelineError([f"{self.name}: {problem}" for problem in problems])

    def _refuse_others(self) -> None:
        """The files of two workflows would be taken for each other's."""
        fs, path = open_filesystem(join(self.work_dir, ".curator"), self.storage_options)
        names = [base_name(str(entry).rstrip("/")) for entry in fs.ls(path, detail=False)]
        others = sorted(name for name in names if fs.isdir(join(path, name)) and name != self.name)
        if others:
            raise ResumeError(
                f"the work directory {self.work_dir} is that of the workflow {others[0]!r}; give "
                f"{self.name!r} another one"
            )

    def _refuse_repeated(self, name: str, result: WorkflowResult) -> None:
        if name in result.runs:
            raise PipelineError(
                f"workflow {self.name!r} has two pipelines named {name!r}, whose runs would be "
                "kept in one place; give each a name of its own"
            )


def _heed(stopping: StopRequest, result: WorkflowResult) -> None:
    """Begin no other pipeline where somebody has asked for an end."""
    from curator_core.reporting.figures import counted

    if stopping.is_asked:
        raise RunInterrupted(
            f"stopped by {stopping.reason}: {counted(len(result.runs), 'pipeline')} done and kept; "
            "run the same command to go on",
            stopping.signal_number,
        )
