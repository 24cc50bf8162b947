"""Workflows: several pipelines with files between them."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, ClassVar, Unpack

from curator_core.errors import PipelineError, ResumeError, RunInterrupted, hint
from curator_core.io.filesystems import base_name, full_path, join, open_filesystem
from curator_core.model.formatting import counted
from curator_core.model.stages import AnyStage
from curator_core.pipeline import Pipeline, choose_executor
from curator_core.plan.executor import Executor
from curator_core.plan.stop_request import StopRequest
from curator_core.run.input_changes import InputPolicy
from curator_core.run.locks import LockedFolder, lock_folder
from curator_core.run.observers import Observer, WorkflowInfo, observe_workflow
from curator_core.run.options import WorkflowRunOptions, refuse_unknown_options
from curator_core.run.result import RunResult, WorkflowResult
from curator_core.run.signals import note_signals


class Workflow(ABC):
    """A series of pipelines in which later ones read files of earlier ones.

    Each keeps its run in the work directory. A killed workflow resumes in the pipeline that it was
    in; a finished workflow does nothing.
    """

    name: str = "workflow"

    written_by: ClassVar[str | None] = None
    """The pipeline that writes the result; by default the last one."""

    work_option: ClassVar[str] = "work_dir"
    """Name of the option that sets the work directory, for messages."""

    step_options: ClassVar[Mapping[str, str]] = {}
    """The options that a curation sets if the workflow is one of its steps: the names of those for
    the folders "input", "output" and "work", for "storage", and for the "format" of the output.
    Empty if the workflow cannot be a step."""

    @classmethod
    def step(cls, name: str = "", **options: Any) -> "WorkflowStep":
        """Return the workflow as a step of a `Curation`, which chooses where it reads and writes.

        `options` are those of the workflow, without its folders.
        """
        return WorkflowStep(cls, name or cls.name, options)

    def step_inputs(self) -> Iterable[str]:
        """Return the columns that the records of a step must have."""
        return ()

    def step_writer(self, folder: str) -> AnyStage:
        """Return the stage that writes records to be read by this workflow."""
        from curator_core.io.writers import ParquetWriter

        return ParquetWriter(folder, storage_options=self.storage_options)

    def step_reader(self, folder: str, text_field: str | None) -> AnyStage:
        """Return the stage that reads what this workflow has written."""
        from curator_core.io.readers import ParquetReader

        return ParquetReader(folder, text_field=text_field, storage_options=self.storage_options)

    @property
    @abstractmethod
    def work_dir(self) -> str:
        """The folder of intermediate files and of the pipelines' runs."""

    @property
    def storage_options(self) -> dict[str, Any]:
        """Options of the work directory's file system."""
        return {}

    @abstractmethod
    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        """Yield the pipelines in order.

        Each has run when the generator resumes, so the next one can depend on `result`.
        """

    def locked_folders(self) -> Iterable[LockedFolder]:
        """Yield the folders to lock during the run: the work directory, and shared ones."""
        yield LockedFolder(self.work_dir, "work directory", self.work_option)

    def check(self) -> Iterable[str]:
        """Return problems with the options, before anything runs."""
        return ()

    def check_sources(self) -> Iterable[str]:
        """Return problems with the input. Not called if empty input is allowed."""
        return ()

    def run(
        self,
        executor: Executor | str | None = None,
        *,
        allow_empty: bool = False,
        **options: Unpack[WorkflowRunOptions],
    ) -> WorkflowResult:
        """Run what is left of the workflow, including quarantined work.

        `WorkflowRunOptions` lists the other options. A work directory can be used by one run at a
        time, and by one workflow only.
        """
        refuse_unknown_options(options, WorkflowRunOptions)
        observers = options["observers"] = tuple(options.get("observers", ()))
        policy = InputPolicy.of(options.get("removed_inputs", "stop"))
        options["removed_inputs"] = self._input_policy(policy)
        shared = options.get("shared", False)
        self.refuse_problems(allow_empty=allow_empty)
        chosen = choose_executor(executor)
        result = WorkflowResult()
        with ExitStack() as held:
            locks = []
            for folder in self.locked_folders():
                locks.append(lock_folder(folder, self.storage_options, shared=shared))
                held.callback(locks[-1].release)
            self._refuse_others()
            stopping = StopRequest()
            with self._notify(observers, result), note_signals(stopping), chosen.session():
                for pipeline in self.pipelines(result):
                    self._refuse_repeated(pipeline.name, result)
                    _refuse_if_stopping(stopping, result)
                    adapted = replace(pipeline, allow_empty=pipeline.allow_empty or allow_empty)
                    result.runs[pipeline.name] = self._run(adapted, chosen, options)
                    for lock in locks:
                        lock.check()
        return result

    def _input_policy(self, policy: InputPolicy) -> InputPolicy:
        """Adapt the policy: intermediate files may disappear; their names identify documents."""
        places = (
            open_filesystem(folder.path, self.storage_options) for folder in self.locked_folders()
        )
        own = tuple(full_path(fs, path) for fs, path in places)
        return replace(policy, own_folders=own, depends_on_names=True)

    def run_dir(self, pipeline: str) -> str:
        """Return the run directory of a pipeline."""
        return join(self.work_dir, ".curator", self.name, pipeline)

    def _run(
        self, pipeline: Pipeline, executor: Executor, options: WorkflowRunOptions
    ) -> RunResult:
        run_dir = self.run_dir(pipeline.name)
        done = pipeline.run(executor, run_dir=run_dir, **options)
        if done.sources_skipped and any(r.is_worth_retrying for r in done.quarantined):
            return pipeline.retry(
                run_dir,
                executor,
                storage_options=self.storage_options,
                observers=options["observers"],
                progress=options.get("progress", True),
            )
        return done

    @contextmanager
    def _notify(self, observers: Iterable[Observer], result: WorkflowResult) -> Iterator[None]:
        """Tell observers of the end of the workflow, and of the error that ended it."""
        observation = observe_workflow(observers)

        def end(error: BaseException | None) -> None:
            info = WorkflowInfo(
                self.name,
                self.work_dir,
                self.storage_options,
                lambda: self.write_report(result),
                error,
            )
            observation.end_workflow(info, result)

        try:
            yield
        except BaseException as error:
            end(error)
            raise
        end(None)

    def final_run(self, result: WorkflowResult) -> RunResult:
        """Return the result of the pipeline that wrote the output."""
        runs = result.runs
        name = self.written_by if self.written_by in runs else next(reversed(runs), None)
        return RunResult() if name is None else runs[name]

    def write_report(self, result: WorkflowResult) -> str | None:
        """Write a report page, for workflows that have one, and return its path.

        curator-report calls it at the end, so it can import curator-report.
        """
        return None

    def refuse_problems(self, *, allow_empty: bool = False) -> None:
        """Raise one error that lists all problems."""
        problems = [*self.check(), *(() if allow_empty else self.check_sources())]
        if problems:
            raise PipelineError([f"{self.name}: {problem}" for problem in problems])

    def _refuse_others(self) -> None:
        """Raise if another workflow has used this work directory: their files would be mixed up."""
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
                "kept in one place; give each its own name"
            )


@dataclass(frozen=True)
class WorkflowStep:
    """A workflow that is a step of a curation, and the options that the user gave it."""

    kind: type[Workflow]
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        given_by_curation = self.kind.step_options
        if not given_by_curation:
            raise PipelineError(
                f"{self.name} cannot be a step: it has several inputs, or none; run it on its own"
            )
        kind: Any = self.kind
        known = [found.name for found in fields(kind) if found.init] if is_dataclass(kind) else []
        for option in self.options:
            if option in given_by_curation.values():
                raise PipelineError(
                    f"{self.name}: {option} is chosen by the curation; leave it out"
                )
            if known and option not in known:
                raise PipelineError(f"{self.name}: no option {option!r}{hint(option, known)}")

    def create(self, folders: Mapping[str, Any]) -> Workflow:
        """Create the workflow. `folders` has a value for each key of `Workflow.step_options`."""
        options = {option: folders[role] for role, option in self.kind.step_options.items()}
        return self.kind(**options, **self.options)


def _refuse_if_stopping(stopping: StopRequest, result: WorkflowResult) -> None:
    """Raise if a stop was requested, before the next pipeline starts."""
    if stopping.is_requested:
        raise RunInterrupted(
            f"stopped by {stopping.reason}: {counted(len(result.runs), 'pipeline')} done and kept; "
            "run the same command again to resume",
            stopping.signal_number,
        )
