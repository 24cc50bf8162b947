"""Cluster workflows: group similar documents, then keep one, none, or all of them, marked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from curator_core import Pipeline, WorkflowResult

from curator_dedup.corpora import CorpusWorkflow
from curator_dedup.counting import counts_in
from curator_dedup.decisions import Keep
from curator_dedup.removal.decided import CLUSTER_COLUMNS
from curator_dedup.removal.removing import Removing
from curator_dedup.reporting.curves import Curve

if TYPE_CHECKING:
    from curator_dedup.reporting.verification import Verification
    from curator_dedup.reporting.writing import Told


@dataclass
class ClusterWorkflow(CorpusWorkflow):
    """A workflow that decides about whole documents."""

    keep: Keep = "one"
    """Which duplicates to keep: one of each group, none, or all of them, marked."""

    keep_empty: bool = True
    """Whether to keep documents with nothing to compare. They are not duplicates of each other."""

    add_clusters: bool | None = None
    """Add cluster_id, cluster_size and is_duplicate to each document. If unset, only for `mark`."""

    added_columns = CLUSTER_COLUMNS

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        return {**super().choices, "keep": get_args(Keep)}

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    @property
    def columns_to_add(self) -> Sequence[str]:
        return CLUSTER_COLUMNS if self.has_clusters else ()

    @property
    def curve(self) -> Curve | None:
        """The probability that two documents are compared, by their similarity; None if always."""
        return None

    def verification(self, result: WorkflowResult) -> "Verification | None":
        """Return the results of exact verification; None if the workflow does not verify."""
        return None

    def shown_fields(self) -> Sequence[str]:
        """Return the fields that the report shows of a document."""
        text_field = self.named_fields.get("text_field")
        return (text_field,) if text_field else ()

    def told(self, result: WorkflowResult) -> "tuple[Told, str] | None":
        from curator_dedup.reporting.pages import render
        from curator_dedup.reporting.summaries import Subject, summary_of

        subject = Subject(
            self.name, self.folder("decisions"), self.shown_fields(), curve=self.curve,
            verification=self.verification(result), storage_options=self.storage,
        )  # fmt: skip
        summary = summary_of(subject, result.metadata)
        return None if summary is None else (summary, render(summary))

    def removing(self, partitions: int) -> Pipeline:
        """Return the pipeline that removes documents according to the decisions."""
        stage = Removing(
            partitions,
            self.named_fields.get("text_field") or Removing.text_field,
            self.output_format,
            self.has_clusters,
            self.storage,
        )
        return self.writing(stage, "decisions", partitions)

    def counts(self, compared: str) -> dict[str, int]:
        """Return the counts of the folder with a row per document, plus those of the decisions."""
        every = counts_in(self.folder(compared), self.storage)
        decided = counts_in(self.folder("decisions"), self.storage)
        names = ("documents", "empty", "no_records", "groups", "duplicates", "removed")
        counts = {name: every[name] + decided[name] for name in names}
        return {**counts, "kept": counts["documents"] - counts["removed"]}
