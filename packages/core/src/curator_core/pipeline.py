"""Pipelines: the stages that a user writes, and how to run them."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, Unpack

from curator_core.errors import PipelineError, ResourceError
from curator_core.io.filesystems import StorageOptions
from curator_core.model.optional_dependencies import import_if_installed, notebook_view
from curator_core.model.policies import ErrorPolicy, FailureBudget, OnError
from curator_core.model.stages import AnyStage, ProcessingStage, flatten
from curator_core.model.tasks import AnyTask
from curator_core.plan.executor import Executor
from curator_core.plan.fusion import fuse
from curator_core.plan.plan import Plan, PlannedStage
from curator_core.plan.validation import find_problems, plan_notes, unsupported_features
from curator_core.run.observers import Observer, observe
from curator_core.run.options import RunOptions, refuse_unknown_options
from curator_core.run.progress_log import ProgressLog
from curator_core.run.result import RunResult

if TYPE_CHECKING:
    from curator_core.preview import Preview
    from curator_core.run.session import RunStream


def choose_executor(wanted: Executor | str | None) -> Executor:
    """Return the executor, loading one by name or by default."""
    if isinstance(wanted, Executor):
        return wanted
    return _load_default_executor() if wanted is None else _load_executor(wanted)


def _load_default_executor() -> Executor:
    from curator_core.plugins.registry import plugins

    if named := os.environ.get("CURATOR_EXECUTOR"):
        executor = _load_executor(named)
        executor.why_chosen = "set by CURATOR_EXECUTOR"
    elif "streaming" in plugins().executors.places:
        executor = _load_executor("streaming")
        executor.why_chosen = "default"
    else:
        executor = _load_executor("local")
        executor.why_chosen = "default; no other executor is installed"
    return executor


def _load_executor(name: str) -> Executor:
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

    fuse: bool = True
    """Whether the plan may merge neighbouring stages that share work, such as filters of one text
    column. Results and counts are the same without it.
    """

    recipe: str = field(default="", repr=False, compare=False)
    """The recipe that the pipeline was made from, if any; runs store it for `curate retry`."""

    def __post_init__(self) -> None:
        if isinstance(self.stages, ProcessingStage):
            raise PipelineError("stages must be a list, got a single stage: use stages=[stage]")
        self.stages = [_require_stage(stage, "stages") for stage in self.stages]

    def add_stage(self, stage: AnyStage) -> Self:
        """Append a stage and return the pipeline, so that calls can be chained."""
        self.stages = [*self.stages, _require_stage(stage, "add_stage()")]
        return self

    def build(
        self,
        executor: Executor | None = None,
        tasks: Sequence[AnyTask] | None = None,
        on_error: OnError | None = None,
    ) -> Plan:
        """Return the validated plan, or raise an error that lists all problems."""
        try:
            plan = self._make_plan(on_error)
        except ValueError as error:
            raise PipelineError(str(error)) from None
        problems = list(find_problems(plan, has_tasks=tasks is not None))
        problems += unsupported_features(executor, plan) if executor else ()
        if problems:
            raise PipelineError(problems)
        missing = list(executor.check(plan)) if executor else []
        if missing:
            raise ResourceError("\n".join(missing))
        return replace(plan, notes=tuple(plan_notes(plan)))

    def run(
        self,
        executor: Executor | str | None = None,
        tasks: Iterable[AnyTask] | None = None,
        run_dir: str | PathLike[str] | None = None,
        **options: Unpack[RunOptions],
    ) -> RunResult:
        """Run the pipeline. If it ends with a writer, running it again processes only what is left.

        Options, which `RunOptions` documents: on_error, resume, removed_inputs, shared, observers,
        progress, storage_options.
        """
        stream = self.stream(executor, tasks, run_dir, **options)
        stream.result.tasks = outputs = []
        with stream:
            for output in stream:  # on errors, the result has earlier outputs
                outputs.append(output)
        return stream.result

    def stream(
        self,
        executor: Executor | str | None = None,
        tasks: Iterable[AnyTask] | None = None,
        run_dir: str | PathLike[str] | None = None,
        **options: Unpack[RunOptions],
    ) -> "RunStream":
        """Return a stream of output tasks; closing it early stops the run gracefully."""
        from curator_core.run.session import open_stream

        refuse_unknown_options(options, RunOptions)
        chosen = choose_executor(executor)
        given = None if tasks is None else list(tasks)
        plan = self.build(chosen, given, options.get("on_error"))
        folder = None if run_dir is None else os.fspath(run_dir)
        return open_stream(plan, chosen, given, folder, options)

    def preview(self, n: int = 20, *, pictures: bool = True) -> "Preview":
        """Run the stages on `n` records from files all over the input, and write nothing.

        Print the result, or let a notebook show it: what each stage changed and dropped and why,
        and records from end to end. `pictures=False` leaves out thumbnails.
        """
        from curator_core.preview import preview

        return preview(self.build(), n, pictures=pictures)

    def retry(
        self,
        run_dir: str | PathLike[str],
        executor: Executor | str | None = None,
        *,
        accept_changes: bool = False,
        storage_options: StorageOptions | None = None,
        observers: Iterable[Observer] = (),
        progress: bool = True,
    ) -> RunResult:
        """Retry what an earlier run of this pipeline quarantined, and nothing else.

        Whole tasks and single records start at the stage where they failed. Successes are added to
        the output. The result covers the run and its retries, except `tasks`, `sources_done` and
        `seconds`, which cover this retry only.

        If the pipeline has changed since the run, this raises an error unless `accept_changes` is
        set. Even then, it must have the same stages, and they must write to the same places.
        """
        from curator_core.run.retry import retry

        chosen = choose_executor(executor)
        plan = self.build(chosen)
        observation = observe(observers, ProgressLog(), progress=progress)
        result = None
        try:
            result = retry(
                plan,
                os.fspath(run_dir),
                chosen,
                storage_options,
                accept_changes=accept_changes,
                observation=observation,
            )
        finally:
            observation.end(result)
        return result

    def describe(self) -> str:
        """Return a short text that lists the stages and their task types."""
        lines = [f"{self.name}: {self.description}" if self.description else self.name]
        for planned in self._make_plan(None).stages:
            kinds = f"{planned.input_type.__name__} -> {planned.output_type.__name__}"
            lines.append(f"  {planned.index + 1}. {planned.name} ({kinds})")
        return "\n".join(lines)

    def planned_stages(self) -> tuple[PlannedStage, ...]:
        """Return the stages as they would run, with composites decomposed and without checks."""
        return self._make_plan(None).stages

    def _repr_html_(self) -> str | None:
        return notebook_view("pipeline", self)

    def to_yaml(self) -> str:
        """Return the recipe of this pipeline; all of its stages must be registered."""
        return str(recipes_of_cli("Pipeline.to_yaml").pipeline_to_yaml(self))

    @classmethod
    def from_yaml(cls, text: str) -> "Pipeline":
        """Return the pipeline of a recipe that `to_yaml` wrote."""
        pipeline: Pipeline = recipes_of_cli("Pipeline.from_yaml").pipeline_from_yaml(text)
        return pipeline

    def _make_plan(self, on_error: OnError | None) -> Plan:
        flat = flatten(self.stages)
        stages = tuple(self._plan_stage(index, stage, on_error) for index, stage in enumerate(flat))
        budget = FailureBudget(self.max_failures)
        samples = self.samples and os.environ.get("CURATOR_SAMPLES") != "0"
        plan = Plan(self.name, stages, self.description, budget, self.allow_empty, self.recipe,
                    samples=samples)  # fmt: skip
        return fuse(plan) if self.fuse else plan

    def _plan_stage(self, index: int, stage: AnyStage, on_error: OnError | None) -> PlannedStage:
        policy = ErrorPolicy(
            stage.on_error or on_error or self.on_error,
            self.retries if stage.retries is None else stage.retries,
            self.timeout_s if stage.timeout_s is None else stage.timeout_s,
            setup_timeout_s=stage.setup_timeout_s,
        )
        return PlannedStage.of(index, stage, policy)


def recipes_of_cli(method: str) -> Any:
    """Return `curator_cli.recipes`, which the method needs."""
    recipes = import_if_installed("curator_cli.recipes")
    if recipes is None:
        raise PipelineError(f"{method}() needs curator-cli: pip install curator-cli")
    return recipes


def _require_stage(stage: object, where: str) -> AnyStage:
    """Return a stage unchanged; raise an error with a hint for anything else."""
    if isinstance(stage, ProcessingStage):
        return stage
    remedy = ""
    if isinstance(stage, type) and issubclass(stage, ProcessingStage):
        remedy = f": call it to make one, {stage.__name__}(...)"
    elif callable(stage) and not isinstance(stage, type):
        remedy = ": make a stage of it with @processing_stage(name=...)"
    raise PipelineError(f"{where}: expected a stage, but got {stage!r}{remedy}")
