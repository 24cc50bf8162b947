"""Curations: stages and workflows in one list, run as one workflow."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Unpack

from curator_core.curation_parts import (
    Part,
    PartBuilder,
    PipelineSettings,
    StagesPart,
    Step,
    WorkflowPart,
)
from curator_core.errors import PipelineError, ResumeError, hint, reason_of
from curator_core.io.filesystems import base_name, join, open_filesystem
from curator_core.io.listing import FileFilter, find_files
from curator_core.logs import log
from curator_core.model.ids import fingerprint
from curator_core.model.optional_dependencies import import_if_installed
from curator_core.model.stages import ProcessingStage
from curator_core.pipeline import Pipeline, recipes_of_cli
from curator_core.plan.executor import Executor
from curator_core.plan.plan import Output, Plan, outputs_of, to_plain_data
from curator_core.plan.validation import find_problems
from curator_core.run.directory import differences
from curator_core.run.locks import LockedFolder
from curator_core.run.options import WorkflowRunOptions
from curator_core.run.result import RunResult, WorkflowResult
from curator_core.run.sources import StageListing
from curator_core.workflow import Workflow, WorkflowStep

LOG = log()

_FINISHED = "finished.json"
_PARTS = "curation.json"


class Curation(Workflow):
    """Stages and workflows in order, as one workflow: one run, one resume.

        Curation([
            JsonlReader("raw"),
            WordCountFilter(min_words=50),
            FuzzyDeduplicationWorkflow.step(),
            JsonlWriter("clean"),
        ]).run()

    The stages before, between and after workflows form a pipeline each. Records between two parts
    are in files of the work directory, which are removed at the end. With `keep_intermediate`
    they stay, and a later run can add new input.
    """

    name = "curation"

    def __init__(
        self,
        steps: Sequence[Step],
        name: str = "curation",
        description: str = "",
        *,
        work_dir: str | None = None,
        keep_intermediate: bool = False,
        **settings: Unpack[PipelineSettings],
    ) -> None:
        """`work_dir` is next to the output by default."""
        self.name = name
        self.description = description
        self.steps = list(steps)
        self.keep_intermediate = keep_intermediate
        self.settings = settings
        self.recipe = ""
        """The recipe that it was made from, if any; dataset cards show it."""

        self._work_dir = work_dir
        self._resumes = True
        self._restarted: set[str] = set()
        """Beginnings of the names of pipelines that start over, because their input changed."""

        if problems := list(self._wrong_steps()):
            raise PipelineError([f"{name}: {problem}" for problem in problems])

    def _wrong_steps(self) -> Iterator[str]:
        for number, step in enumerate(self.steps, start=1):
            if not isinstance(step, ProcessingStage | WorkflowStep):
                remedy = "use .step() to make a step of a workflow"
                yield f"step {number} is {step!r}, but must be a stage or a workflow; {remedy}"
        if not self.steps:
            yield "there are no steps"
            return
        if isinstance(self.steps[0], WorkflowStep):
            yield f"it begins with the workflow {self.steps[0].name!r}; put a reader first"
        last = self.steps[-1]
        if isinstance(last, WorkflowStep):
            yield f"it ends with the workflow {last.name!r}; put a writer behind it"
        elif isinstance(last, ProcessingStage) and not last.writes:
            yield f"it ends with {last.name!r}, which writes nothing; put a writer last"

    def to_yaml(self) -> str:
        """Return the recipe of this curation. All stages and workflows must be registered."""
        return str(recipes_of_cli("Curation.to_yaml").curation_to_yaml(self))

    @classmethod
    def from_yaml(cls, text: str) -> "Curation":
        """Return the curation of a recipe with workflows among its steps."""
        made: Curation = recipes_of_cli("Curation.from_yaml").curation_from_yaml(text)
        return made

    # Folders

    @property
    def work_dir(self) -> str:
        if self._work_dir is not None:
            return self._work_dir
        if self._output is None:
            raise PipelineError(f"{self.name}: its writer has no output folder; set work_dir")
        return join(self._output.folder, ".curator", self.name)

    @property
    def storage_options(self) -> dict[str, Any]:
        return self._output.storage_options if self._output else {}

    @cached_property
    def _output(self) -> Output | None:
        writer = self.steps[-1]
        assert isinstance(writer, ProcessingStage)
        stages = Pipeline(stages=[writer]).planned_stages()
        return next(iter(outputs_of(Plan(self.name, stages))), None)

    def locked_folders(self) -> Iterable[LockedFolder]:
        yield from super().locked_folders()
        for part in self._workflow_parts():
            yield from part.workflow.locked_folders()

    def run_dir(self, pipeline: str) -> str:
        for part in self._workflow_parts():
            if pipeline.startswith(part.label("")):
                return part.workflow.run_dir(pipeline.removeprefix(part.label("")))
        return super().run_dir(pipeline)

    @cached_property
    def parts(self) -> list[Part]:
        """The pipelines and workflows that the steps make, in order."""
        return PartBuilder(
            self.name, self.description, self.settings, self._folder(), self.storage_options
        ).build(self.steps)

    def _folder(self, *names: str) -> str:
        return join(self.work_dir, "parts", *names)

    def _workflow_parts(self) -> list[WorkflowPart]:
        return [part for part in self.parts if isinstance(part, WorkflowPart)]

    # Checks

    def check(self) -> Iterable[str]:
        for part in self.parts:
            if isinstance(part, WorkflowPart):
                yield from (f"step {part.name!r}: {text}" for text in part.workflow.check())
            else:
                stages = part.pipeline.planned_stages()
                plan = Plan(part.pipeline.name, stages, allow_empty=True)
                yield from find_problems(plan, has_tasks=part is not self.parts[0])
        yield from self._missing_columns()

    def _missing_columns(self) -> Iterator[str]:
        """Yield the columns that the first workflow needs, and no stage before it provides."""
        if len(self.parts) == 1:
            return
        first, second = self.parts[:2]
        assert isinstance(first, StagesPart)
        known: frozenset[str] | None = None
        for planned in first.pipeline.planned_stages()[:-1]:
            known = planned.stage.columns_after(known if planned.index else None)
        if known is None or not isinstance(second, WorkflowPart):
            return
        for name in second.workflow.step_inputs():
            if name not in known:
                yield f"step {second.name!r} needs a column {name!r}{hint(name, sorted(known))}"

    def check_sources(self) -> Iterable[str]:
        first = self.parts[0]
        assert isinstance(first, StagesPart)
        yield from first.pipeline.planned_stages()[0].stage.check_sources()

    # Run

    def run(
        self,
        executor: Executor | str | None = None,
        *,
        allow_empty: bool = False,
        **options: Unpack[WorkflowRunOptions],
    ) -> WorkflowResult:
        self._resumes = options.get("resume", True)
        self._restarted.clear()
        return super().run(executor, allow_empty=allow_empty, **options)

    def _run(
        self, pipeline: Pipeline, executor: Executor, options: WorkflowRunOptions
    ) -> RunResult:
        starts_over = pipeline.name.startswith(tuple(self._restarted))
        resume = self._resumes and not starts_over
        return super()._run(pipeline, executor, {**options, "resume": resume})

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        if not self._resumes:
            self._remove_intermediate_files()
            self._remove(self._folder(_FINISHED))
        finish = self._read(self._folder(_FINISHED))
        if finish is not None:
            self._refuse_changes(finish)
            result.metadata |= finish["metadata"]
            return
        self._write(join(self.work_dir, _PARTS), self._describe_parts(is_finished=False))
        if self.recipe:
            self._put(join(self.work_dir, "recipe.yaml"), self.recipe.encode())
        for part in self.parts:
            if isinstance(part, WorkflowPart):
                yield from self._run_workflow(part, result)
                continue
            yield part.pipeline
            if result.runs[part.pipeline.name].kept_nothing:
                return
        self._write(join(self.work_dir, _PARTS), self._describe_parts(is_finished=True))
        self._finish(result)

    def _run_workflow(self, part: WorkflowPart, result: WorkflowResult) -> Iterator[Pipeline]:
        """Yield the pipelines of a workflow, which sees its own results only."""
        inner = WorkflowResult()
        self._record_input(part)
        part.workflow.refuse_problems()
        for pipeline in part.workflow.pipelines(inner):
            label = part.label(pipeline.name)
            yield replace(pipeline, name=label)
            inner.runs[pipeline.name] = result.runs[label]
        result.metadata[part.name] = inner.metadata
        if import_if_installed("curator_report") is not None:
            self._write_report_of(part, inner)

    def _write_report_of(self, part: WorkflowPart, inner: WorkflowResult) -> None:
        """Have a workflow write its report while its files are there."""
        try:
            part.workflow.write_report(inner)
        except Exception as error:  # noqa: BLE001 - a report must not end the run
            LOG.warning("%s: no report of %s: %s", self.name, part.name, reason_of(error))

    def _describe_parts(self, *, is_finished: bool) -> dict[str, Any]:
        """Return where the runs of all parts are, for reports."""
        parts = []
        for part in self.parts:
            if isinstance(part, WorkflowPart):
                folder, removal = part.workflow.run_dir("").rstrip("/"), part.workflow.written_by
                facts = {"folder": self._relative(folder), "removal": removal}
                parts.append({"name": part.name, **facts})
            else:
                name = part.pipeline.name
                folder = super().run_dir("").rstrip("/")
                parts.append({"name": name, "folder": self._relative(folder), "run": name})
        about = {"name": self.name, "description": self.description}
        return {**about, "is_finished": is_finished, "parts": parts}

    def _relative(self, path: str) -> str:
        return path.removeprefix(self.work_dir.rstrip("/") + "/")

    def write_report(self, result: WorkflowResult) -> str | None:
        report = import_if_installed("curator_report.curation_record")
        return None if report is None else str(report.write_curation_report(self.work_dir))

    def final_run(self, result: WorkflowResult) -> RunResult:
        return next(reversed(result.runs.values()), RunResult())

    # Intermediate files

    def _record_input(self, part: WorkflowPart) -> None:
        """Start a workflow over if its input has changed: it compares all records together."""
        listed = find_files([part.input], FileFilter(), self.storage_options)
        current = fingerprint(*(f"{file.path} {file.size} {file.version}" for file in listed))
        note = self._folder(f"{part.name}.input.json")
        recorded = self._read(note)
        if not self._exists(part.workflow.run_dir("")):  # someone may have deleted a folder
            self._remove_files_of(part)
        elif recorded not in (None, current):
            LOG.info("%s: the input of %s has changed, so it starts over", self.name, part.name)
            self._restarted.add(part.label(""))
            self._remove_files_of(part)
        self._write(note, current)

    def _finish(self, result: WorkflowResult) -> None:
        """Remove intermediate files, unless they are to be kept or a retry needs them."""
        if self.keep_intermediate:
            return
        if any(r.is_worth_retrying for run in result.runs.values() for r in run.quarantined):
            LOG.info(
                "%s: intermediate files are kept in %s, because a retry of the records in "
                "quarantine needs them", self.name, self._folder(),
            )  # fmt: skip
            return
        facts = {"steps": self._describe_steps(), "input": self._describe_input()}
        self._write(self._folder(_FINISHED), {**facts, "metadata": result.metadata})
        self._remove_intermediate_files()

    def _remove_intermediate_files(self) -> None:
        for part in self.parts:
            if isinstance(part, WorkflowPart):
                self._remove_files_of(part)
            elif part.output:
                self._remove(part.output)

    def _remove_files_of(self, part: WorkflowPart) -> None:
        """Remove what a workflow has written, except its reports and the records of its runs."""
        self._remove(part.output)
        fs, folder = open_filesystem(self._folder(part.name, "work"), self.storage_options)
        for entry in fs.ls(folder, detail=True) if fs.isdir(folder) else ():
            name = base_name(entry["name"].rstrip("/"))
            if name != ".curator" and not name.startswith("duplicates."):
                fs.rm(entry["name"], recursive=True)

    def _refuse_changes(self, finish: Mapping[str, Any]) -> None:
        """Raise if steps or input have changed: what they could be compared with was removed."""
        before, now = finish["steps"], self._describe_steps()
        if before != now:
            changes = "\n".join(f"  {line}" for line in differences(before, now))
            raise ResumeError(
                f"{self.name!r} has changed since it was finished:\n{changes}\n"
                "Undo the change, write to another folder, or start over with resume=False "
                "(--no-resume)"
            )
        if finish["input"] != self._describe_input():
            raise ResumeError(
                f"the input of {self.name!r} has changed since it was finished, and intermediate "
                "files were removed. Start over with resume=False (--no-resume), which replaces "
                "the output; with keep_intermediate, later runs process new input only"
            )

    def _describe_input(self) -> str:
        """Return a fingerprint of the listed sources."""
        first = self.parts[0]
        assert isinstance(first, StagesPart)
        plan = Plan(self.name, first.pipeline.planned_stages(), allow_empty=True)
        return fingerprint(
            *(f"{source.source_id} {source.origins}" for source in StageListing(plan, ""))
        )

    def _describe_steps(self) -> list[dict[str, Any]]:
        """Return the names and options of all stages and workflows, as far as they matter."""
        found: list[dict[str, Any]] = []
        for part in self.parts:
            if isinstance(part, StagesPart):
                found += (planned.describe() for planned in part.pipeline.planned_stages())
                continue
            kind = type(part.workflow)
            place = f"{kind.__module__}:{kind.__qualname__}"
            options = to_plain_data(part.options)
            found.append({"name": part.name, "stage": place, "options": options})
        return found

    def _read(self, path: str) -> Any:
        fs, path = open_filesystem(path, self.storage_options)
        try:
            return json.loads(fs.cat_file(path))
        except (FileNotFoundError, ValueError):  # it was never written, or not completely
            return None

    def _write(self, path: str, facts: Any) -> None:
        self._put(path, json.dumps(facts).encode())

    def _put(self, path: str, content: bytes) -> None:
        fs, path = open_filesystem(path, self.storage_options)
        fs.makedirs(path.rpartition("/")[0], exist_ok=True)
        fs.pipe_file(path, content)

    def _exists(self, path: str) -> bool:
        fs, path = open_filesystem(path, self.storage_options)
        return bool(fs.exists(path))

    def _remove(self, path: str) -> None:
        fs, path = open_filesystem(path, self.storage_options)
        if fs.exists(path):
            fs.rm(path, recursive=True)
