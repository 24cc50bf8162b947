"""Pipelines: the stages that a user writes, and how to run them."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Self

from curator_core.errors import PipelineError, ResourceError
from curator_core.io.filesystems import StorageOptions
from curator_core.model.metrics_address import MetricsAddress
from curator_core.model.policies import ErrorPolicy, FailureBudget, OnError
from curator_core.model.stages import AnyStage, ProcessingStage, flatten
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Executor
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.plan.validation import beyond, find_problems, notes_on
from curator_core.run.input_changes import InputPolicy, RemovedInputs
from curator_core.run.result import RunResult

if TYPE_CHECKING:
    from curator_core.run.session import RunStream


def chosen_executor(wanted: Executor | str | None) -> tuple[Executor, str]:
    """Return the executor, and why it was chosen."""
    if isinstance(wanted, Executor):
        return wanted, "given"
    if wanted is not None:
        return _made(wanted), "given"
    named = os.environ.get("CURATOR_EXECUTOR")
    if named:
        return _made(named), "CURATOR_EXECUTOR says so"
    from curator_core.plugins.registry import plugins

    if "streaming" in plugins().executors.places:
        return _made("streaming"), "it is installed"
    return _made("local"), "no other one is installed"


def _made(name: str) -> Executor:
    from curator_core.plugins.registry import plugins

    executor: Executor = plugins().executors.load(name)()
    return executor


@dataclass
class Pipeline:
    """A sequence of stages, and how to handle their failures.

    `on_error`, `retries` and `timeout_s` apply to stages that do not set their own.
    """

    name: str = "pipeline"
    description: str = ""
    stages: Sequence[AnyStage] = field(default_factory=list)
    on_error: OnError = "quarantine"
    retries: int | None = None
    timeout_s: float | None = None
    max_failures: int | float | None = 0.1
    allow_empty: bool = False
    samples: bool = True
    """Whether reports show a few records that stages changed or dropped. The environment variable
    CURATOR_SAMPLES=0 disables this for all pipelines.
    """

    recipe: str = field(default="", repr=False, compare=False)
    """The recipe that the pipeline was made from, if any; runs store it for `curate retry`."""

    def __post_init__(self) -> None:
        if isinstance(self.stages, ProcessingStage):
            raise PipelineError("stages is one stage, but must be a list of them: [stage]")
        self.stages = [_checked(stage, "stages") for stage in self.stages]

    def add_stage(self, stage: AnyStage) -> Self:
        """Append a stage and return the pipeline, so that calls can be chained."""
        self.stages = [*self.stages, _checked(stage, "add_stage()")]
        return self

    def build(
        self,
        executor: Executor | None = None,
        tasks: Sequence[AnyTask] | None = None,
        on_error: OnError | None = None,
    ) -> Plan:
        """Return the validated plan, or raise an error that lists all problems."""
        try:
            plan = self._planned(on_error)
        except ValueError as error:
            raise PipelineError(str(error)) from None
        problems = list(find_problems(plan, has_tasks=tasks is not None))
        problems += beyond(executor, plan) if executor else ()
        if problems:
            raise PipelineError(problems)
        lacking = list(executor.check(plan)) if executor else []
        if lacking:
            raise ResourceError("\n".join(lacking))
        return replace(plan, notes=tuple(notes_on(plan)))

    def run(  # noqa: PLR0913 - independent options
        self,
        executor: Executor | str | None = None,
        tasks: Iterable[AnyTask] | None = None,
        run_dir: str | PathLike[str] | None = None,
        *,
        resume: bool = True,
        on_error: OnError | None = None,
        storage_options: StorageOptions | None = None,
        metrics: MetricsAddress = None,
        removed_inputs: RemovedInputs | InputPolicy = "stop",
        shared: bool = False,
    ) -> RunResult:
        """Run the pipeline. If it ends with a writer, running it again processes only what is left.

        If input files of an earlier run were removed but their output still exists, the run raises
        RemovedInputsError before it writes anything, unless `removed_inputs` is "prune" (delete
        that output) or "keep". Renamed files are recognized. With `shared`, the group of the run
        directory may resume the run too.

        `storage_options` are for a `run_dir` on another file system than the outputs. `metrics`
        serves Prometheus metrics: True (the first free port from 9464 on), a port, or "HOST:PORT".
        """
        stream = self.stream(
            executor,
            tasks,
            run_dir,
            resume=resume,
            on_error=on_error,
            storage_options=storage_options,
            metrics=metrics,
            removed_inputs=removed_inputs,
            shared=shared,
        )
        stream.result.tasks = outputs = []
        try:
            with stream:
                for output in stream:  # on errors, the result has earlier outputs
                    outputs.append(output)
        finally:
            if storage_options is None:
                _leave_report(stream.result)
        return stream.result

    def stream(  # noqa: PLR0913 - independent options
        self,
        executor: Executor | str | None = None,
        tasks: Iterable[AnyTask] | None = None,
        run_dir: str | PathLike[str] | None = None,
        *,
        resume: bool = True,
        on_error: OnError | None = None,
        storage_options: StorageOptions | None = None,
        metrics: MetricsAddress = None,
        removed_inputs: RemovedInputs | InputPolicy = "stop",
        shared: bool = False,
    ) -> "RunStream":
        """Return a stream of output tasks; closing it early stops the run gracefully."""
        from curator_core.run.session import OpenedStream, Place

        policy = InputPolicy.of(removed_inputs)
        chosen, why = chosen_executor(executor)
        given = None if tasks is None else list(tasks)
        plan = self.build(chosen, given, on_error)
        folder = None if run_dir is None else os.fspath(run_dir)
        place = Place(folder, resume, storage_options, metrics, policy, shared)
        return OpenedStream(plan, chosen, given, place, why)

    def retry(
        self,
        run_dir: str | PathLike[str],
        executor: Executor | str | None = None,
        *,
        accept_changes: bool = False,
        storage_options: StorageOptions | None = None,
    ) -> RunResult:
        """Retry what an earlier run of this pipeline quarantined, and nothing else.

        Whole tasks and single records start at the stage where they failed. Successes are added to
        the output. The result covers the run and its retries, except `tasks`, `sources_done` and
        `seconds`, which cover this retry only.

        If the pipeline has changed since the run, this raises an error unless `accept_changes` is
        set. Even then, it must have the same stages, and they must write to the same places.
        """
        from curator_core.run.retry import retry

        chosen, _ = chosen_executor(executor)
        result = retry(
            self.build(chosen),
            os.fspath(run_dir),
            chosen,
            storage_options,
            accept_changes=accept_changes,
        )
        if storage_options is None:
            _leave_report(result)
        return result

    def describe(self) -> str:
        """Return a short text that lists the stages and their task types."""
        lines = [f"{self.name}: {self.description}" if self.description else self.name]
        for planned in self._planned(None).stages:
            kinds = f"{planned.takes.__name__} -> {planned.gives.__name__}"
            lines.append(f"  {planned.index + 1}. {planned.name} ({kinds})")
        return "\n".join(lines)

    def planned_stages(self) -> tuple[PlannedStage, ...]:
        """Return the stages as they would run, with composites decomposed and without checks."""
        return self._planned(None).stages

    def _repr_html_(self) -> str:
        from curator_core.reporting.notebooks import pipeline_html

        return pipeline_html(self)

    def to_yaml(self) -> str:
        """Return the recipe of this pipeline; all of its stages must be registered."""
        from curator_core.recipes import pipeline_to_yaml

        return pipeline_to_yaml(self)

    @classmethod
    def from_yaml(cls, text: str) -> "Pipeline":
        from curator_core.recipes import pipeline_from_yaml

        return pipeline_from_yaml(text)

    def _planned(self, on_error: OnError | None) -> Plan:
        flat = flatten(self.stages)
        aware = (stage.followed_by(flat[place + 1 :]) for place, stage in enumerate(flat))
        stages = tuple(self._settled(index, stage, on_error) for index, stage in enumerate(aware))
        budget = FailureBudget(self.max_failures)
        samples = self.samples and os.environ.get("CURATOR_SAMPLES") != "0"
        return Plan(self.name, stages, self.description, budget, self.allow_empty, self.recipe,
                    samples=samples)  # fmt: skip

    def _settled(self, index: int, stage: AnyStage, on_error: OnError | None) -> PlannedStage:
        policy = ErrorPolicy(
            stage.on_error or on_error or self.on_error,
            self.retries if stage.retries is None else stage.retries,
            self.timeout_s if stage.timeout_s is None else stage.timeout_s,
            setup_timeout_s=stage.setup_timeout_s,
        )
        return PlannedStage.of(index, stage, policy)


def _leave_report(result: RunResult) -> None:
    """Write the report page if the run has a run directory."""
    if result.run_dir is not None:
        from curator_core.reporting.pages import leave_report

        leave_report(result)


def _checked(stage: object, where: str) -> AnyStage:
    """Return a stage unchanged; raise an error with a hint for anything else."""
    if isinstance(stage, ProcessingStage):
        return stage
    way_out = ""
    if isinstance(stage, type) and issubclass(stage, ProcessingStage):
        way_out = f": call it to make one, {stage.__name__}(...)"
    elif callable(stage) and not isinstance(stage, type):
        way_out = ": make a stage of it with @processing_stage(name=...)"
    raise PipelineError(f"{where} takes stages, but was given {stage!r}{way_out}")
