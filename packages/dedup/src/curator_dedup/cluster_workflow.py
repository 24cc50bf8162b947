"""Base workflows that group similar documents, with or without an index of earlier crawls."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from curator_core import FilePart, InputError, Pipeline, WorkflowResult
from curator_core.logs import log
from curator_core.run.locks import LockedFolder

from curator_dedup.index import Crawls, Index, crawl_output, output_name, record_crawls
from curator_dedup.intermediate_files import counts_in
from curator_dedup.passes.decide import Keep
from curator_dedup.passes.remove import CLUSTER_COLUMNS, DocumentRemover
from curator_dedup.report.curve import BandCurve
from curator_dedup.workflow import DocumentWorkflow, partitions_for

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from curator_dedup.report.clusters import Verification
    from curator_dedup.report.files import ReportData

_log = log("curator_core.dedup")

_PARTITION_BYTES = 1 << 30
"""Bytes of input per partition, which take a few hundred megabytes of hashes in memory."""

_MIN_PARTITIONS = 4
"""Minimum number of partitions, so that several workers can compare those of a small input."""

_INDEX_PARTITIONS = 16
"""Minimum number of partitions of a new index, which can never change it."""


@dataclass
class ClusterWorkflow(DocumentWorkflow):
    """Group similar documents, then keep one of each group, none, or all of them, marked."""

    keep: Keep = "one"
    """Which duplicates to keep: one of each group, none, or all of them, marked."""

    keep_empty: bool = True
    """Whether to keep documents with nothing to compare. They are not duplicates of each other."""

    add_clusters: bool | None = None
    """Add cluster_id, cluster_size and is_duplicate to each document. If unset, only for `mark`."""

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {**super().allowed_values, "keep": get_args(Keep)}

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    @property
    def columns_to_add(self) -> Sequence[str]:
        return CLUSTER_COLUMNS if self.has_clusters else ()

    @property
    def curve(self) -> BandCurve | None:
        """The probability that two documents are compared, by their similarity; None if always."""
        return None

    def verification(self, result: WorkflowResult) -> "Verification | None":
        """Return the results of exact verification; None if the workflow does not verify."""
        return None

    def report_fields(self) -> Sequence[str]:
        """Return the fields that the report shows of a document."""
        text_field = self.field_options.get("text_field")
        return (text_field,) if text_field else ()

    def render_report(self, result: WorkflowResult) -> "tuple[ReportData, str] | None":
        from curator_dedup.report.cluster_page import render
        from curator_dedup.report.clusters import ReportedWorkflow, summarize_clusters

        workflow = ReportedWorkflow(
            self.name, self.folder("decisions"), self.report_fields(), curve=self.curve,
            verification=self.verification(result), storage_options=self.storage,
        )  # fmt: skip
        summary = summarize_clusters(workflow, result.metadata)
        return None if summary is None else (summary, render(summary))

    def remove(self, partitions: int) -> Pipeline:
        """Return the pipeline that removes documents according to the decisions."""
        remover = DocumentRemover(
            partitions,
            self.field_options.get("text_field") or DocumentRemover.text_field,
            self.output_format,
            self.has_clusters,
            self.storage,
        )
        return self.removal_pipeline(remover, "decisions", partitions)

    def counts(self, compared: str) -> dict[str, int]:
        """Return the counts of the folder with a row per document, plus those of the decisions."""
        counts = counts_in(self.folder(compared), self.storage)
        counts += counts_in(self.folder("decisions"), self.storage)
        names = ("documents", "empty", "no_records", "groups", "duplicates", "removed")
        return {
            **{name: counts[name] for name in names},
            "kept": counts["documents"] - counts["removed"],
        }


@dataclass
class IndexedWorkflow(ClusterWorkflow):
    """Compare texts, also with those of earlier crawls in an index, and add them to it."""

    text_field: str = "text"
    """Field to compare."""

    priority_field: str | None = None
    """Field with numbers: of duplicates, the document with the highest is kept."""

    index_path: str | None = None
    """Folder that records the hashes of all crawls. Duplicates of earlier crawls are removed."""

    @property
    @abstractmethod
    def index_options(self) -> "DataclassInstance":
        """Options that must be equal for two crawls to be comparable."""

    @property
    def field_options(self) -> Mapping[str, str | None]:
        return {"text_field": self.text_field, "priority_field": self.priority_field}

    @property
    def index(self) -> Index | None:
        return None if self.index_path is None else Index(str(self.index_path), self.storage)

    @property
    def earlier(self) -> str | None:
        """Path of the note on the crawls that this one is compared with; None without an index."""
        return None if self.index_path is None else self.folder("earlier.json")

    def record_crawls(self, files: Sequence[FilePart]) -> Crawls | None:
        """Return the crawl that is added to the index, and those it is compared with."""
        if self.index is None or self.earlier is None:
            return None
        overwrites = self.mode == "overwrite"
        return record_crawls(
            self.index, files, self.earlier, self.output_path, overwrites=overwrites
        )

    def locked_folders(self) -> Iterable[LockedFolder]:
        """Lock the index too: two crawls at a time would not see each other's documents."""
        yield from super().locked_folders()
        if self.index_path is not None:
            yield LockedFolder(str(self.index_path), "index", "index_path")

    def partitions_for_input(self, files: Sequence[FilePart]) -> int:
        """Return the number of partitions; with an index, that of the index."""
        fitting = partitions_for(sum(file.size for file in files), _PARTITION_BYTES)
        if self.index is None:
            return self.partitions or max(_MIN_PARTITIONS, fitting)
        wanted = self.partitions or max(_INDEX_PARTITIONS, 4 * fitting)
        existing = self.index.open(self.index_options, wanted)
        if self.partitions not in (None, existing):
            raise InputError(
                f"{self.name}: partitions is {self.partitions}, but the index {self.index_path} "
                f"has {existing}; leave partitions out, or give another index_path"
            )
        return existing

    def counts(self, compared: str) -> dict[str, int]:
        """Add empty texts, which have no decisions."""
        counts = super().counts(compared)
        removed = 0 if self.keep_empty else counts["empty"]
        return {
            **counts, "removed": counts["removed"] + removed, "kept": counts["kept"] - removed
        }  # fmt: skip

    def warn_if_all_known(self, counts: Mapping[str, int], crawls: Crawls) -> None:
        """Warn if no document is kept because the index has all of them.

        The likely cause is an output that was deleted to start over, while the index still has its
        crawl.
        """
        if not counts["documents"] or counts["kept"] or counts["groups"] == 0:
            return
        if not crawls.earlier:
            return
        own = output_name(self.output_path, self.storage)
        previous = [crawl for crawl in crawls.earlier if crawl_output(crawl) == own]
        message = f"{self.name}: no document is kept: earlier crawls of the index have all of them"
        if previous:
            message += (
                f"; the last one into {self.output_path} is {previous[-1]}: if its result was "
                f"deleted and not moved, remove that folder and {self.work_dir}, and run again"
            )
        _log.warning("%s", message)
