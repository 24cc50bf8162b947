"""Clusters: workflows that put documents together, of which one stays, or none, or all marked."""

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
    """A workflow whose decisions are on whole documents."""

    keep: Keep = "one"
    """Of duplicates: one stays, none of them, or all of them with a mark."""

    keep_empty: bool = True
    """Whether documents with nothing to compare stay. They are not each other's duplicates."""

    add_clusters: bool | None = None
    """Adds cluster_id, cluster_size and is_duplicate to each document; by itself with `mark`."""

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
        """How likely documents are to be compared, where that depends on their similarity."""
        return None

    def verification(self, result: WorkflowResult) -> "Verification | None":
        """What comparing documents word for word came to, where that is done."""
        return None

    def shown_fields(self) -> Sequence[str]:
        """What the report shows of a document."""
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
        """The pipeline that leaves out what the decisions say."""
        stage = Removing(
            partitions,
            self.named_fields.get("text_field") or Removing.text_field,
            self.output_format,
            self.has_clusters,
            self.storage,
        )
        return self.writing(stage, "decisions", partitions)

    def counts(self, compared: str) -> dict[str, int]:
        """What the folder with a row for each document, and the decisions, say together."""
        every = counts_in(self.folder(compared), self.storage)
        decided = counts_in(self.folder("decisions"), self.storage)
        names = ("documents", "empty", "no_records", "groups", "duplicates", "removed")
        counts = {name: every[name] + decided[name] for name in names}
        return {**counts, "kept": counts["documents"] - counts["removed"]}
