"""Sampling: read some records of the user's files, and measure them with registered stages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from curator_core import AnyStage, DocumentBatch, Dropped, Pipeline, WorkerInfo
from curator_core.errors import CuratorError, PluginError
from curator_core.model.formatting import counted, shortened
from curator_core.plugins.registry import Plugins
from curator_core.preview import Record, draw_sample, preview, reading_stages

_SCORE = "inspected_score"


@dataclass(frozen=True)
class SampledRecords:
    """Facts of sample records, and how many files or records could not be read."""

    records: list[Record]
    sources: int
    failures: list[str]

    def describe(self, thing: str) -> str:
        """Return how much was read, and what could not be."""
        text = f"{counted(len(self.records), thing)} from {counted(self.sources, 'file')}"
        if not self.failures:
            return text
        example = shortened(self.failures[0], 100)
        return f"{text}; {counted(len(self.failures), 'failure')}, such as: {example}"


def make_stage(plugins: Plugins, name: str, **options: Any) -> AnyStage:
    """Make a registered stage; PluginError with what to install if it is not there."""
    if name not in plugins.stages:
        package = f"curator-{name.partition('.')[0]}"
        raise PluginError(f"{name} is in {package}, which is not installed: pip install {package}")
    stage: AnyStage = plugins.stages.load(name)(**options)
    return stage


def problems_of(stage: AnyStage) -> list[str]:
    """Return why a stage cannot run here, such as missing packages."""
    try:
        return list(stage.check())
    except CuratorError as error:
        return [str(error)]


def sample_batch(
    stages: Sequence[AnyStage], records: int, most_sources: int
) -> tuple[DocumentBatch, SampledRecords]:
    """Read records as one batch, which stages can measure."""
    plan = Pipeline("inspection", stages=stages, samples=False).build()
    sample = draw_sample(plan.stages[: reading_stages(plan.stages)], records, most_sources)
    tables = [task.data for task in sample.tasks if isinstance(task, DocumentBatch)]
    table = pa.concat_tables(tables, promote_options="permissive") if tables else pa.table({})
    batch = DocumentBatch(table)
    failures = [failure.reason for failure in sample.failures]
    return batch, SampledRecords(batch.to_pylist(), len(sample.sources), failures)


def sample_facts(stages: Sequence[AnyStage], records: int) -> SampledRecords:
    """Read records and run measuring stages on them; return the facts of each."""
    seen = preview(Pipeline("inspection", stages=stages, samples=False).build(), records)
    failures = [failure.reason for stage in seen.stages for failure in stage.quarantined]
    return SampledRecords(seen.rest, len(seen.sources), failures)


def run_stage(stage: AnyStage, batch: DocumentBatch) -> list[DocumentBatch]:
    """Run a stage alone, and return what it keeps and drops."""
    stage.setup(WorkerInfo("inspection"))
    try:
        result: Any = stage.process(batch)
        outputs = [result] if isinstance(result, DocumentBatch | Dropped) else list(result or ())
    finally:
        stage.teardown()
    return [found for output in outputs if (found := _records(output)) is not None]


def _records(output: Any) -> DocumentBatch | None:
    if isinstance(output, Dropped):
        records = output.records
        output = records() if callable(records) else records
    return output if isinstance(output, DocumentBatch) else None


def measure(
    plugins: Plugins, name: str, options: Mapping[str, Any], batch: DocumentBatch
) -> list[float | None]:
    """Return the scores that a filter gives to the records, of those it would drop as well."""
    stage = make_stage(plugins, name, **options, score_field=_SCORE)
    scores: list[float | None] = []
    for found in run_stage(stage, batch):
        if _SCORE in found.data.column_names:
            scores += found.data.column(_SCORE).to_pylist()
    return scores
