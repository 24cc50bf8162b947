"""Result of a run: output tasks, counts per stage, quarantined records."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, overload

from curator_core.errors import CuratorError, PipelineError
from curator_core.io.filesystems import join, open_filesystem, parent_of
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.formatting import counted, duration
from curator_core.model.node_usage import NodeUsage
from curator_core.model.optional_dependencies import not_installed, notebook_view, to_data_frame
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.model.tasks import AnyTask, Empty
from curator_core.model.usage import Usage
from curator_core.run.text_tables import stages_table, text_table, totals_table
from curator_core.run.totals import RunTotals, totals_of

REPORT = "report.html"
"""The report page in a run directory."""

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def collect_records(result: "RunResult") -> "pa.Table":
    """Return all records: of the output tasks if these hold records, else of the files."""
    batches = [task for task in result.tasks if isinstance(task, DocumentBatch)]
    if len(batches) == len(result.tasks) and batches:
        return _concat_batches(batches)
    others = {type(task).__name__ for task in result.tasks if not isinstance(task, FileGroup)}
    if others:
        raise PipelineError(
            f"the run gave {', '.join(sorted(others))}, which are not records; read its tasks one "
            "by one: [task.data for task in result]"
        )
    return _concat_batches(_read_files(result.files))


def _concat_batches(batches: Sequence[DocumentBatch]) -> "pa.Table":
    import pyarrow as pa

    if not batches:
        return pa.table({})
    tables = [batch.data for batch in batches]
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise PipelineError(
            f"the tables of this run have different schemas ({error}); "
            "take its tasks, or its files, one by one"
        ) from error


def _read_files(files: Sequence[str]) -> list[DocumentBatch]:
    from curator_core.execution.run_stages import run_stages
    from curator_core.io.readers import JsonlReader, ParquetReader

    found: list[DocumentBatch] = []
    for reader, ending in ((ParquetReader, ".parquet"), (JsonlReader, ".jsonl")):
        mine = [file for file in files if ending in file.rpartition("/")[2]]
        if mine:
            outputs = run_stages([reader(file_paths=mine)], [Empty()]).outputs
            found += [task for task in outputs if isinstance(task, DocumentBatch)]
    if files and not found:
        raise PipelineError(
            f"the run wrote {len(files)} files, and none of them ends in .parquet or .jsonl; "
            "read them with a tool for their format"
        )
    return found


_MOST_FOLDERS = 3


@dataclass
class RunResult(Sequence[AnyTask]):
    """The output tasks of a run, as a sequence, and its counts."""

    tasks: list[AnyTask] = field(default_factory=list)
    stages: dict[str, StageCounts] = field(default_factory=dict)
    status: str = "done"
    seconds: float = 0.0
    sources_done: int = 0
    sources_skipped: int = 0
    quarantined: list[QuarantineRecord] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    run_dir: str | None = None
    worker_restarts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    usages: dict[str, Usage] = field(default_factory=dict)
    """Resource usage per stage, of this attempt at the run."""

    nodes: dict[str, NodeUsage] = field(default_factory=dict)
    """The most that each node used, in this attempt at the run."""

    dropped_files: list[str] = field(default_factory=list)
    """Files of dropped records, from stages that keep these."""

    is_complete: bool = False
    """Whether no source is left to process, however the run ended."""

    @overload
    def __getitem__(self, index: int) -> AnyTask: ...
    @overload
    def __getitem__(self, index: slice) -> list[AnyTask]: ...
    def __getitem__(self, index: int | slice) -> AnyTask | list[AnyTask]:
        return self.tasks[index]

    @property
    def kept_nothing(self) -> bool:
        """Whether rules dropped records and none reached the end of the pipeline."""
        counts = list(self.stages.values())
        if not counts or counts[-1].tasks_out or counts[-1].items_out:
            return False
        return any(stage.items_dropped for stage in counts)

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[AnyTask]:
        return iter(self.tasks)

    @property
    def totals(self) -> RunTotals:
        """The data before and after the run: records, files, bytes, hours, words."""
        return totals_of(self.stages)

    @property
    def report(self) -> str | None:
        """Path of the report page; None if the run has none, such as without curator-report."""
        if self.run_dir is None:
            return None
        try:
            fs, root = open_filesystem(self.run_dir)
            return join(self.run_dir, REPORT) if fs.exists(join(root, REPORT)) else None
        except (CuratorError, OSError):
            return None

    def __str__(self) -> str:
        """Return tables: totals, what each stage kept back and why, and where the output is."""
        done = counted(self.sources_done + self.sources_skipped, "source")
        parts = [f"{self.status} in {duration(self.seconds)}: {done}"]
        if self.quarantined:
            parts.append(f"{sum(record.items for record in self.quarantined):,} quarantined")
        width = max(80, get_terminal_size((120, 24)).columns)
        blocks = [", ".join(parts)]
        if self.stages:
            blocks += [totals_table(self.totals), stages_table(self.stages, width)]
        blocks.append(text_table(("", " "), self._places(), ["", " "]).strip("\n"))
        return "\n\n".join(block for block in blocks if block)

    def _places(self) -> Iterator[tuple[str, str]]:
        """Yield the places of the output and the report, or how to get a report."""
        if self.run_dir is None:
            return
        folders = list(dict.fromkeys(map(parent_of, self.files)))
        for place, folder in enumerate(folders[:_MOST_FOLDERS]):
            yield "" if place else "output", folder
        if len(folders) > _MOST_FOLDERS:
            yield "", f"and {counted(len(folders) - _MOST_FOLDERS, 'more folder')}"
        missing = not_installed("it", ["curator_report"], "pip install curator-report")
        none = f"none: {missing}" if missing else f"none yet: curate report {self.run_dir}"
        yield "run", self.run_dir
        yield "report", self.report or none

    def __repr__(self) -> str:
        sources = self.sources_done + self.sources_skipped
        parts = [f"{sources} sources", f"{len(self.tasks)} tasks", f"{len(self.files)} files"]
        parts += [f"{len(self.quarantined)} quarantined"] if self.quarantined else []
        return f"<RunResult {self.status}: {', '.join(parts)}; run_dir={self.run_dir!r}>"

    def _repr_html_(self) -> str | None:
        return notebook_view("result", self)

    def to_arrow(self) -> "pa.Table":
        """Return all output records as one table, read from the tasks or the written files."""

        return collect_records(self)

    def to_pandas(self) -> "pd.DataFrame":
        """Return all output records as a data frame; requires pandas."""
        return to_data_frame(self.to_arrow())

    def to_json(self) -> dict[str, Any]:
        """Return everything except the tasks as JSON-compatible values."""
        return {
            "status": self.status,
            "kept_nothing": self.kept_nothing,
            "seconds": round(self.seconds, 3),
            "run_dir": self.run_dir,
            "sources_done": self.sources_done,
            "sources_skipped": self.sources_skipped,
            "quarantined": len(self.quarantined),
            "files": len(self.files),
            "dropped_files": len(self.dropped_files),
            "worker_restarts": self.worker_restarts,
            "notes": self.notes,
            "is_complete": self.is_complete,
            "totals": self.totals.to_json(),
            "stages": {name: counts.to_json() for name, counts in self.stages.items()},
            "usages": {name: usage.to_json() for name, usage in self.usages.items()},
            "nodes": {name: usage.to_json() for name, usage in self.nodes.items()},
        }


@dataclass
class WorkflowResult:
    """The results of a workflow's pipelines by name, and metadata of the workflow."""

    runs: dict[str, RunResult] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    report: str | None = None
    """Path of the report page, if there is one."""

    @property
    def seconds(self) -> float:
        return sum(result.seconds for result in self.runs.values())

    def __str__(self) -> str:
        """Return a table of the pipelines, and where the report is."""
        head = ("pipeline", "state", "sources", "done before", "read", "written", "files", "time")
        table = text_table(head, [_pipeline_row(*run) for run in self.runs.items()], head[:2])
        return "\n\n".join(filter(None, (table, self.report and f"report  {self.report}")))

    @property
    def did_nothing(self) -> bool:
        """Whether everything had been done before."""
        return not any(result.sources_done for result in self.runs.values())

    def to_json(self) -> dict[str, Any]:
        """Return everything except the tasks as JSON-compatible values."""
        return {
            "seconds": round(self.seconds, 3),
            "did_nothing": self.did_nothing,
            "metadata": self.metadata,
            "report": self.report,
            "runs": {name: result.to_json() for name, result in self.runs.items()},
        }


def _pipeline_row(name: str, result: RunResult) -> tuple[str, ...]:
    totals = result.totals
    numbers = (
        result.sources_done,
        result.sources_skipped,
        totals.read.records,
        totals.written.records,
        len(result.files),
    )
    shown = (f"{number:,}" if number else "" for number in numbers)
    return name, result.status, *shown, duration(result.seconds)
