"""Notebook views of pipelines, results and batches."""

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from curator_core.model.formatting import brief, count, counted, shortened, size
from curator_core.model.secrets import redact

from curator_report.failures import drop_reasons
from curator_report.html import render_part
from curator_report.summary import Summary

if TYPE_CHECKING:
    from curator_core import DocumentBatch, Pipeline, RunResult

_MOST_ROWS = 8
_MOST_COLUMNS = 12
_MOST_STAGES = 60
_LONGEST = 120


@dataclass(frozen=True)
class View:
    """A caption, an unstyled table (notebooks have their own styles), and lines below it."""

    title: str
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    lines: Sequence[tuple[str, str]] = ()

    def to_html(self) -> str:
        return render_part("notebook", "view", self)


def batch_html(batch: "DocumentBatch") -> str:
    """Show the first rows, and the number of rows and columns."""
    columns = batch.data.column_names
    shown = columns[:_MOST_COLUMNS]
    first = batch.data.select(shown).slice(0, _MOST_ROWS).to_pylist()
    rows = [[shortened(_text(row[name]), _LONGEST) for name in shown] for row in first]
    kinds = [f"{name} ({batch.data.schema.field(name).type})" for name in shown]
    caption = [counted(batch.num_items, "record"), counted(len(columns), "column"),
            size(batch.num_bytes)]  # fmt: skip
    if batch.dataset_name:
        caption.insert(0, batch.dataset_name)
    return View("DocumentBatch", ", ".join(caption), kinds, rows).to_html()


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def pipeline_html(pipeline: "Pipeline") -> str:
    """Show the stages with their input and output types, options and resources."""
    planned = pipeline.planned_stages()
    rows = [
        [
            str(one.index + 1),
            one.name,
            f"{one.input_type.__name__} → {one.output_type.__name__}",
            shortened(_options(one.stage), _LONGEST),
            _resources(one.resources),
        ]
        for one in planned[:_MOST_STAGES]
    ]
    caption = pipeline.description or counted(len(planned), "stage")
    head = ("", "stage", "takes → gives", "options", "needs")
    return View(pipeline.name, caption, head, rows).to_html()


def _options(stage: Any) -> str:
    """List the options, those without their default first, each one shortened."""
    from curator_core.plan.plan import stage_options, to_plain_data

    made = fields(stage) if is_dataclass(stage) else ()
    usual = {one.name: to_plain_data(one.default) for one in made if one.default is not MISSING}
    options = [(name, value) for name, value in stage_options(stage).items() if value is not None]
    options.sort(key=lambda one: one[0] in usual and usual[one[0]] == one[1])
    return redact(
        ", ".join(f"{name}={shortened(repr(value), _LONGEST // 3)}" for name, value in options)
    )


def _resources(resources: Any) -> str:
    parts = [f"{resources.cpus:g} CPU"]
    parts += [f"{resources.gpus:g} GPU"] if resources.gpus else []
    parts += [f"{resources.gpu_memory_gb:g} GB of a GPU"] if resources.gpu_memory_gb else []
    parts += [f"{resources.memory_gb:g} GB"] if resources.memory_gb else []
    return ", ".join(parts)


def result_html(result: "RunResult") -> str:
    """Show how the run ended, a row for each stage, and why records were kept back."""
    rows = [
        [
            name,
            count(counts.files) if counts.files else "",
            count(counts.records_in),
            count(counts.records_out),
            count(counts.items_dropped),
            count(counts.items_failed + counts.items_rejected),
            size(counts.bytes_out) if counts.bytes_out else "",
            brief(counts.seconds),
        ]
        for name, counts in list(result.stages.items())[:_MOST_STAGES]
    ]
    head = ("stage", "files", "in", "out", "dropped", "failed", "bytes", "time in it")
    summary = Summary("the run", result)
    reasons = [f"{count(items)} {stage}: {reason}" for stage, reason, items in
               drop_reasons(result.stages)[:_MOST_ROWS]]  # fmt: skip
    lines = [("dropped", one) for one in reasons] + summary.lines()
    shown = [(label, shortened(text, 300)) for label, text in lines]
    return View(summary.verdict(), "", head, rows, shown).to_html()
