"""Base workflows: folders, options, checks and pipelines that all deduplication shares."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from curator_core import (
    AnyStage,
    FilePart,
    InputError,
    Pipeline,
    PipelineError,
    Workflow,
    WorkflowResult,
)
from curator_core.errors import hint
from curator_core.io.compression import COMPRESSIONS
from curator_core.io.filesystems import StorageOptions, join, paths_as_text
from curator_core.io.shuffle import MAX_PARTITIONS, ExchangeWriter
from curator_core.io.writers import Mode
from curator_core.logs import log
from curator_core.plan.plan import Output
from curator_core.run.directory import RunDirectory
from curator_core.run.outputs import refuse_foreign

from curator_dedup.input_fields import MissingFields, sample_fields
from curator_dedup.intermediate_files import counts_in
from curator_dedup.option_checks import wrong_choices, wrong_types
from curator_dedup.passes.list import BlockListing
from curator_dedup.passes.remove import DocumentWriter, OutputFormat

if TYPE_CHECKING:
    from curator_dedup.report.files import ReportData

_log = log("curator_core.dedup")

REMOVE = "remove"
"""Name of the pipeline that writes the result, in every workflow."""


class DedupWorkflow(Workflow):
    """Base of all workflows: from files, through intermediate files, to a folder.

    Subclasses are dataclasses that document these options.
    """

    input_path: str | list[str]
    output_path: str
    partitions: int | None
    work_path: str | None
    storage: StorageOptions

    work_option: ClassVar[str] = "work_path"
    written_by: ClassVar[str | None] = REMOVE
    step_options: ClassVar[Mapping[str, str]] = {
        "input": "input_path",
        "output": "output_path",
        "work": "work_path",
        "storage": "storage",
    }

    def __post_init__(self) -> None:
        self.input_path = paths_as_text(self.input_path)
        self.output_path = str(self.output_path)

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        """The allowed values of options that have a fixed set."""
        return {"mode": get_args(Mode)}

    @property
    def work_dir(self) -> str:
        return str(self.work_path or join(self.output_path, ".curator", self.name))

    @property
    def storage_options(self) -> dict[str, Any]:
        return dict(self.storage)

    def folder(self, name: str) -> str:
        """Return the path of intermediate files."""
        return join(self.work_dir, name)

    def check_numbers(self) -> Iterator[str]:
        """Yield problems with numeric options of the subclass. Other options may be invalid too."""
        yield from ()

    def check(self) -> Iterable[str]:
        yield from wrong_choices(self, self.allowed_values)
        yield from self.check_numbers()
        if self.partitions is not None and not 1 <= self.partitions <= MAX_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MAX_PARTITIONS}"
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"

    def refuse_problems(self, *, allow_empty: bool = False) -> None:
        """Check types first: values of the wrong type cannot be compared with a range."""
        wrong = list(wrong_types(self))
        if wrong:
            raise PipelineError([f"{self.name}: {problem}" for problem in wrong])
        super().refuse_problems(allow_empty=allow_empty)

    def refuse_unreadable_files(self, result: WorkflowResult, pipeline: str) -> None:
        """Fail if a file could not be read: all of its duplicates would be kept."""
        unread = [record for record in result.runs[pipeline].quarantined if record.whole_task]
        if unread:
            raise InputError(
                f"{self.name}: {unread[0].reason}"
                + (f" (and {len(unread) - 1} more)" if unread[1:] else "")
                + "; repair or remove the file, then run the same command again"
            )

    def exchange(
        self, name: str, key: str, partitions: int, *, hashed: bool = False
    ) -> ExchangeWriter:
        """Return a writer of intermediate files; `hashed` if the key is a hash already."""
        return ExchangeWriter(
            self.folder(name),
            key=key,
            partitions=partitions,
            hashed=hashed,
            storage_options=self.storage,
        )

    def intermediate_pipeline(self, name: str, stages: Sequence[AnyStage]) -> Pipeline:
        """Return a pipeline over intermediate files: any error fails it, and no input is fine."""
        return Pipeline(name, stages=stages, on_error="fail", allow_empty=True)


@dataclass
class DocumentWorkflow(DedupWorkflow):
    """A workflow that reads JSON Lines and Parquet, and writes what it keeps."""

    input_path: str | list[str]
    """JSON Lines and Parquet input: files, folders, or patterns with * and **."""

    output_path: str
    """Folder for the documents that are kept."""

    input_blocksize: int | str = "256MB"
    """Approximate maximum of input per task; small inputs are split more finely."""

    output_format: OutputFormat = "same"
    """Output format: the same as the input, jsonl or parquet."""

    compression: str | None = None
    """Compression of JSON Lines: gz, zst, bz2 or xz. If unset, files are not compressed."""

    mode: Mode = "error"
    """What to do if the output folder has other data: fail, append, or overwrite."""

    partitions: int | None = None
    """Number of partitions, which are compared one by one. If unset, a power of 2 that depends on
    the size of the input."""

    work_path: str | None = None
    """Folder for intermediate files. If unset, a hidden folder next to the output."""

    storage: StorageOptions = field(default_factory=dict, repr=False)
    """fsspec options for an object store."""

    report: bool = True
    """Whether to write a report on the duplicates found, as HTML and JSON."""

    step_options: ClassVar[Mapping[str, str]] = {
        **DedupWorkflow.step_options,
        "format": "output_format",
    }

    @property
    def field_options(self) -> Mapping[str, str | None]:
        """The options that name fields of the documents, with their values."""
        return {}

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {
            "output_format": get_args(OutputFormat),
            **super().allowed_values,
            "compression": (None, *COMPRESSIONS),
        }

    def step_inputs(self) -> Iterable[str]:
        return [name for name in self.field_options.values() if name]

    @property
    def columns_to_add(self) -> Sequence[str]:
        """The columns that the workflow adds; no document may have them already."""
        return ()

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from self.listing().check()
        yield from self._wrong_folders()
        yield from self._wrong_fields()

    def check_sources(self) -> Iterable[str]:
        yield from self.listing().check_sources()

    def refuse_problems(self, *, allow_empty: bool = False) -> None:
        """Also refuse an output folder with other data: here, not only after the comparison."""
        super().refuse_problems(allow_empty=allow_empty)
        run = RunDirectory(join(self.work_dir, ".curator", self.name, REMOVE), self.storage_options)
        if run.facts() is None:
            output = Output(self.output_path, "document_writer", self.mode, self.storage_options)
            refuse_foreign(output)

    def _wrong_folders(self) -> Iterator[str]:
        """Yield a problem for each output or work folder that would be read as input."""
        for option in ("output_path", "work_path", "index_path"):
            folder = getattr(self, option, None)
            if folder and self.listing().would_read(join(str(folder), "part-0.parquet")):
                yield (
                    f"{option} is {folder}, which is read as input: a second run would read its "
                    "own results; name another folder"
                )
        if self.work_path is not None and str(self.work_path).rstrip("/") == self.output_path:
            yield "work_path is output_path; name another folder for the intermediate files"

    def _wrong_fields(self) -> Iterator[str]:
        sampled = sample_fields(self.listing().listing, self.storage_options)
        for option, name in self.field_options.items():
            if name == "":
                yield f"{option} is empty; name the field"
            elif name and sampled and not sampled.file_with(name):
                suggestion = hint(name, sampled.fields)
                yield f"{option} is {name!r}, but {sampled.no_such_field()}{suggestion}"
        for name in self.columns_to_add:
            file = sampled.file_with(name)
            if file:
                yield f"{file.name} has a field {name!r} already; rename it, or it is replaced"

    def write_report(self, result: WorkflowResult) -> str | None:
        """Write the report if there is anything new; return the path of the page."""
        if not self.report:
            return None
        from curator_dedup.report.files import existing_report, write_report

        page = existing_report(self.work_dir, self.storage)
        if page is not None and result.did_nothing:
            return page
        return write_report(self.work_dir, lambda: self.render_report(result), self.storage)

    @abstractmethod
    def render_report(self, result: WorkflowResult) -> "tuple[ReportData, str] | None":
        """Return the report as data and as a page; None if there is nothing to report."""

    def listing(self) -> BlockListing:
        return BlockListing(
            self.input_path, self.input_blocksize, storage_options=self.storage_options
        )

    def listing_with_decisions(self, name: str, partitions: int) -> BlockListing:
        """Return the same listing, with the files of the exchange `name` added to each block."""
        return replace(self.listing(), decisions=self.folder(name), partitions=partitions)

    def removal_pipeline(self, remover: AnyStage, decisions: str, partitions: int) -> Pipeline:
        """Return the pipeline that reads the input again and writes what a stage keeps of it."""
        writer = DocumentWriter(
            self.output_path, self.mode, self.compression, storage_options=self.storage
        )
        stages = [self.listing_with_decisions(decisions, partitions), remover, writer]
        return Pipeline(REMOVE, stages=stages, on_error="fail")

    def check_missing_fields(self, folder: str) -> None:
        """Warn about documents without the text field; fail if no document has it."""
        counts = counts_in(self.folder(folder), self.storage)
        missing = MissingFields.from_counts(counts)
        field = self.field_options.get("text_field")
        if not missing or not field:
            return
        worst = replace(self.listing(), input_path=missing.most_common(1)[0][0]).listing
        sampled = sample_fields(worst, self.storage)
        fields = () if sampled.file_with(field) else sampled.fields
        description = missing.describe(field, counts["documents"], fields)
        if missing.total() == counts["documents"]:
            raise InputError(f"{self.name}: {description}; name another text_field")
        _log.warning("%s: %s", self.name, description)

    def refuse_changed_input(self, before: Sequence[FilePart]) -> None:
        """Fail if the input changed since it was compared."""
        if list(before) != self.listing().files():
            raise InputError(
                f"{self.name}: the input changed during the run; run the same command again"
            )


def partitions_for(num_bytes: int, each: int) -> int:
    """Return a number of partitions: a power of 2, so that it rarely changes as a corpus grows."""
    number = 1 << max(0, -(-num_bytes // each) - 1).bit_length()
    return min(number, MAX_PARTITIONS)
