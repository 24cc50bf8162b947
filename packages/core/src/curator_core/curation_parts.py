"""Parts of a curation: pipelines of consecutive stages, and workflows, with files between them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict, cast

from curator_core.errors import PipelineError
from curator_core.io.filesystems import join
from curator_core.model.policies import OnError
from curator_core.model.stages import AnyStage, ProcessingStage
from curator_core.pipeline import Pipeline
from curator_core.workflow import Workflow, WorkflowStep

Step: TypeAlias = AnyStage | WorkflowStep

_INTERMEDIATE_WRITER = "intermediate_writer"


class PipelineSettings(TypedDict, total=False):
    """Settings of the pipelines of a curation; `Pipeline` documents them."""

    on_error: OnError
    retries: int | None
    timeout_s: float | None
    max_failures: int | float | None
    samples: bool
    fuse: bool


@dataclass(frozen=True)
class StagesPart:
    """Consecutive stages, which form a pipeline."""

    pipeline: Pipeline
    output: str = ""
    """The folder that it writes for the next part."""


@dataclass(frozen=True)
class WorkflowPart:
    """A workflow, and the folders that it was given."""

    name: str
    workflow: Workflow
    options: Mapping[str, Any]
    """The options that the user gave it."""

    input: str
    output: str

    def label(self, pipeline: str) -> str:
        """Return the name of one of its pipelines within the curation."""
        return f"{self.name}.{pipeline}"


Part: TypeAlias = StagesPart | WorkflowPart


class PartBuilder:
    """Makes the parts of a curation from its steps."""

    def __init__(
        self,
        name: str,
        description: str,
        settings: PipelineSettings,
        folder: str,
        storage_options: Mapping[str, Any],
    ) -> None:
        """`folder` is for the files between parts."""
        self._name = name
        self._description = description
        self._settings = settings
        self._parent = folder
        self._storage_options = dict(storage_options)
        self._steps: Sequence[Step] = ()

    def build(self, steps: Sequence[Step]) -> list[Part]:
        """Return the parts in order. The first step reads, and the last one writes."""
        self._steps = steps
        parts: list[Part] = []
        stages: list[AnyStage] = []
        for step in steps:
            if isinstance(step, ProcessingStage):
                stages.append(step)
            else:
                self._add_workflow(parts, stages, step)
                stages = []
        number = len(parts) + 1
        if number > 1 and stages:
            stages[-1] = self._with_dropped_path(stages[-1], number)
        pipeline = self._pipeline(number, [*self._reader(parts), *stages])
        return [*parts, StagesPart(pipeline)]

    def _add_workflow(
        self, parts: list[Part], stages: Sequence[AnyStage], step: WorkflowStep
    ) -> None:
        number = len(parts) + 1
        if not stages:  # it is directly behind another workflow
            parts.append(self._workflow_part(number, step, parts[-1].output))
            return
        folder = self._folder(f"{number}-records")
        part = self._workflow_part(number + 1, step, folder)
        writer = part.workflow.step_writer(folder).with_(name=_INTERMEDIATE_WRITER)
        writer = self._with_dropped_path(writer, number)
        pipeline = self._pipeline(number, [*self._reader(parts), *stages, writer])
        parts += [StagesPart(pipeline, folder), part]

    def _with_dropped_path(self, writer: AnyStage, number: int) -> AnyStage:
        """Have each part write dropped records to a folder of its own, if the last writer does."""
        folder = getattr(self._steps[-1], "dropped_path", None)
        if not folder or not hasattr(writer, "dropped_path"):
            return writer
        changed: Any = writer.with_()
        changed.dropped_path = join(str(folder), f"{number}-stages")
        if changed.name == _INTERMEDIATE_WRITER:  # dropped records have the format of the output
            changed.dropped_like = cast(Any, self._steps[-1]).with_()
            changed.dropped_like.dropped_path = changed.dropped_path
        return changed  # type: ignore[no-any-return]

    def _workflow_part(self, number: int, step: WorkflowStep, folder: str) -> WorkflowPart:
        name = f"{number}-{step.name}"
        output = self._folder(name, "output")
        work = self._folder(name, "work")
        chosen = {
            "input": folder,
            "output": output,
            "work": work,
            "storage": self._storage_options,
            "format": "parquet",
        }
        try:
            made = step.create(chosen)
        except (TypeError, ValueError) as error:
            raise PipelineError(f"{self._name}: step {step.name!r}: {error}") from None
        return WorkflowPart(name, made, step.options, folder, output)

    def _pipeline(self, number: int, stages: Sequence[AnyStage]) -> Pipeline:
        return Pipeline(f"{number}-stages", self._description, stages, **self._settings)

    def _reader(self, parts: Sequence[Part]) -> list[AnyStage]:
        """Return the reader of what the last part has written, if that is a workflow."""
        if not parts:
            return []
        part = parts[-1]
        assert isinstance(part, WorkflowPart)
        text_field = getattr(self._steps[0], "text_field", "text")
        reader = part.workflow.step_reader(part.output, text_field)
        return [reader.with_(name="intermediate_reader")]

    def _folder(self, *names: str) -> str:
        return join(self._parent, *names)
