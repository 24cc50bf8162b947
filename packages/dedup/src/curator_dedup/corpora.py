"""Corpus workflows: where a workflow over files reads and writes, and the checks on both."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from curator_core import FilePart, InputError, Pipeline, WorkflowResult
from curator_core.errors import hint
from curator_core.io.compression import COMPRESSIONS
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.shuffle import ExchangeWriter
from curator_core.io.shuffle.partition import MOST_PARTITIONS
from curator_core.io.writers.base import Mode
from curator_core.logs import log
from curator_core.model.stages import AnyStage
from curator_core.plan.outputs import Output
from curator_core.run.directory import RunDirectory
from curator_core.run.outputs import refuse_foreign

from curator_dedup.blocks import BlockListing
from curator_dedup.counting import counts_in
from curator_dedup.lacking import Lacking
from curator_dedup.places import WorkflowInFolders
from curator_dedup.removal.removing import Format
from curator_dedup.removal.writing import DocumentWriter
from curator_dedup.samples import samples_of

if TYPE_CHECKING:
    from curator_dedup.reporting.writing import Told

_log = log("curator_core.dedup")

REMOVE = "remove"
"""Name of the pipeline that writes the result, in every workflow."""


@dataclass
class CorpusWorkflow(WorkflowInFolders):
    """A workflow that reads JSON Lines and Parquet, and writes what it keeps."""

    input_path: str | list[str]
    """JSON Lines and Parquet input: files, folders, or patterns with * and **."""

    output_path: str
    """Folder for the documents that are kept."""

    input_blocksize: int | str = "256MB"
    """Approximate maximum of input per task; small inputs are split more finely."""

    output_format: Format = "same"
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

    written_by: ClassVar[str | None] = REMOVE

    added_columns: ClassVar[Sequence[str]] = ()
    """Columns that the workflow may add; no document may have them already."""

    @property
    def named_fields(self) -> Mapping[str, str | None]:
        """The options that name fields of the documents, with their values."""
        return {}

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        """The allowed values of options that have a fixed set."""
        return {
            "output_format": get_args(Format),
            "mode": get_args(Mode),
            "compression": (None, *COMPRESSIONS),
        }

    @property
    def columns_to_add(self) -> Sequence[str]:
        """The columns of `added_columns` that these options add."""
        return ()

    def check(self) -> Iterable[str]:
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"
        for name, known in self.choices.items():
            value = getattr(self, name)
            if value not in known:
                yield f"{name} is {value!r}{hint(str(value), filter(None, known))}"
        if self.partitions is not None and not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"
        yield from self.listing().check()
        yield from self._wrong_places()
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

    def _wrong_places(self) -> Iterator[str]:
        """Yield a problem for each output or work folder that would be read as input."""
        for option in ("output_path", "work_path", "index_path"):
            folder = getattr(self, option, None)
            if folder and self.listing().would_read(join(str(folder), "part-0.parquet")):
                yield (
                    f"{option} is {folder}, which is read as input: a second run would read its "
                    "own results; name another folder"
                )
        if self.work_path is not None and str(self.work_path).rstrip("/") == self.output_path:
            yield "work_path is output_path; name another folder for the files in between"

    def _wrong_fields(self) -> Iterator[str]:
        samples = samples_of(self.listing().listing, self.storage_options)
        for option, name in self.named_fields.items():
            if name == "":
                yield f"{option} is empty; name the field"
            elif name and samples and not samples.with_field(name):
                yield f"{option} is {name!r}, but {samples.have_no()}{hint(name, samples.fields)}"
        for name in self.columns_to_add:
            taken = samples.with_field(name)
            if taken:
                yield (
                    f"{taken.name} has a field {name!r} already, which would be replaced; rename it"
                )

    def write_report(self, result: WorkflowResult) -> str | None:
        """Write the report if there is anything new; return the path of the page."""
        if not self.report:
            return None
        from curator_dedup.reporting.writing import report_in, write_report

        page = report_in(self.work_dir, self.storage)
        if page is not None and result.did_nothing:
            return page
        return write_report(self.work_dir, lambda: self.told(result), self.storage)

    @abstractmethod
    def told(self, result: WorkflowResult) -> "tuple[Told, str] | None":
        """Return the report as data and as a page; None if there is nothing to report."""

    def listing(self) -> BlockListing:
        return BlockListing(
            self.input_path, self.input_blocksize, storage_options=self.storage_options
        )

    def decided_listing(self, name: str, partitions: int) -> BlockListing:
        """Return the same listing, with the files of the exchange `name` added to each block."""
        listing = self.listing()
        listing.decisions, listing.partitions = self.folder(name), partitions
        return listing

    def exchange(
        self, name: str, key: str, partitions: int, *, hashed: bool = False
    ) -> ExchangeWriter:
        """Return a writer of intermediate files."""
        return ExchangeWriter(
            self.folder(name),
            key=key,
            partitions=partitions,
            hashed=hashed,
            storage_options=self.storage,
        )

    def later(self, name: str, stages: Sequence[AnyStage]) -> Pipeline:
        """Return a pipeline over intermediate files: any error fails it, and no input is fine."""
        return Pipeline(name, stages=stages, on_error="fail", allow_empty=True)

    def writing(self, removing: AnyStage, decisions: str, partitions: int) -> Pipeline:
        """Return the pipeline that reads the input again and writes what a stage keeps of it."""
        writer = DocumentWriter(
            self.output_path, self.mode, self.compression, storage_options=self.storage
        )
        stages = [self.decided_listing(decisions, partitions), removing, writer]
        return Pipeline(REMOVE, stages=stages, on_error="fail")

    def refuse_unread(self, result: WorkflowResult, pipeline: str) -> None:
        """Fail if a file could not be read: all of its duplicates would be kept."""
        unread = [record for record in result.runs[pipeline].quarantined if record.whole_task]
        if unread:
            raise InputError(
                f"{self.name}: {unread[0].reason}"
                + (f" (and {len(unread) - 1} more)" if unread[1:] else "")
                + "; mend the file or leave it out, then run the same command again"
            )

    def refuse_lacking(self, folder: str) -> None:
        """Warn about documents without the text field; fail if no document has it."""
        counts = counts_in(self.folder(folder), self.storage)
        lacking = Lacking.of_counts(counts)
        field = self.named_fields.get("text_field")
        if not lacking or not field:
            return
        first = replace(self.listing(), input_path=lacking.most_common(1)[0][0]).listing
        samples = samples_of(first, self.storage)
        fields = () if samples.with_field(field) else samples.fields
        told = lacking.told(field, counts["documents"], fields)
        if lacking.total() == counts["documents"]:
            raise InputError(f"{self.name}: {told}; name another text_field")
        _log.warning("%s: %s", self.name, told)

    def refuse_changed(self, before: Sequence[FilePart]) -> None:
        """Fail if the input changed since it was compared."""
        if list(before) != self.listing().files():
            raise InputError(
                f"{self.name}: the input has changed in the meantime; run the same command again"
            )


def partitions_for(num_bytes: int, each: int) -> int:
    """Return a number of partitions: a power of 2, so that it rarely changes as a corpus grows."""
    number = 1 << max(0, -(-num_bytes // each) - 1).bit_length()
    return min(number, MOST_PARTITIONS)
