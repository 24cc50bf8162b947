"""The report on duplicates as plain data: counts, cluster sizes, domains, examples."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from curator_core.io.filesystems import StorageOptions
from curator_core.io.readers import Record
from curator_core.model.formatting import count, share

from curator_dedup.report.curve import BandCurve
from curator_dedup.report.decisions import CollectedDecisions, ReportedCluster, read_decisions
from curator_dedup.report.lookup import DocumentPlace, look_up_documents


@dataclass(frozen=True)
class Verification:
    """Figures of one run."""

    threshold: float
    compared_pairs: int
    rejected_pairs: int
    kept_as_different: int
    """Documents that are kept only because of verification."""

    seconds: float
    """Time of the pipelines that only verification needs, and of the decisions."""

    all_seconds: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def render(self) -> str:
        rejected = f"{count(self.rejected_pairs)} of {count(self.compared_pairs)} pairs"
        percent = share(self.rejected_pairs, self.compared_pairs)
        return (
            f"<p>Documents that share a band were compared word for word. {rejected}"
            f"{f' ({percent})' if percent else ''} have a similarity below {self.threshold:g} and "
            f"were rejected, so {count(self.kept_as_different)} documents stay that would have "
            f"been duplicates without verification. It took {self.seconds:.1f} of "
            f"{self.all_seconds:.1f} s.</p>"
        )


MAX_LISTED = 1000


@dataclass(frozen=True)
class Pair:
    """Two documents of a cluster, usually the kept one and a duplicate, with their texts."""

    cluster_id: str
    size: int
    places: tuple[DocumentPlace, DocumentPlace]
    texts: tuple[str, str]
    similarity: float | None = None
    """The cosine of their vectors, if these were compared."""

    def to_json(self) -> dict[str, Any]:
        sides = [
            {"file": place.file, "row": place.row, "text": text}
            for place, text in zip(self.places, self.texts, strict=True)
        ]
        near = {} if self.similarity is None else {"similarity": self.similarity}
        about = {"cluster_id": self.cluster_id, "cluster_size": self.size, **near}
        return {**about, "documents": sides}


@dataclass(frozen=True)
class ClusterSummary:
    """The results of a workflow in figures and examples."""

    name: str
    counts: Mapping[str, int]
    duplicates_by_file: Counter[str]
    removed_by_file: Counter[str]
    sizes: Counter[int]
    domains: Counter[str]
    sampled: int
    """Number of duplicates whose domains were read."""

    pairs: Sequence[Pair] = ()
    curve: BandCurve | None = None
    verification: Verification | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def duplicates(self) -> int:
        return sum(self.duplicates_by_file.values())

    def to_json(self) -> dict[str, Any]:
        files = self.duplicates_by_file.most_common(MAX_LISTED)
        return {
            "name": self.name,
            "counts": dict(self.counts),
            "duplicates": self.duplicates,
            "by_file": [
                {"file": file, "duplicates": number, "removed": self.removed_by_file[file]}
                for file, number in files
            ],
            "by_domain": {
                "looked_at": self.sampled,
                "domains": dict(self.domains.most_common(MAX_LISTED)),
            },
            "cluster_sizes": {str(size): self.sizes[size] for size in sorted(self.sizes)},
            "examples": [pair.to_json() for pair in self.pairs],
            "curve": self.curve and self.curve.to_json(),
            "verification": self.verification and self.verification.to_json(),
        }


@dataclass(frozen=True)
class ReportedWorkflow:
    """The workflow to report on, and what it compared."""

    name: str
    decisions: str
    shown: Sequence[str] = ("text",)
    """The fields to show of a document."""

    url_field: str = "url"
    curve: BandCurve | None = None
    verification: Verification | None = None
    storage_options: StorageOptions | None = None


def summarize_clusters(
    subject: ReportedWorkflow, counts: Mapping[str, int]
) -> ClusterSummary | None:
    """Return the summary; None if the decisions have columns that a report does not support."""
    found = read_decisions(subject.decisions, subject.storage_options)
    if found is None:
        return None
    domains = _domains(found, subject)
    return ClusterSummary(
        name=subject.name,
        counts=counts,
        duplicates_by_file=found.duplicates,
        removed_by_file=found.removed,
        sizes=found.sizes,
        domains=domains,
        sampled=domains.total(),
        pairs=_pairs(found.groups, subject),
        curve=subject.curve,
        verification=subject.verification,
    )


def _domains(found: CollectedDecisions, subject: ReportedWorkflow) -> Counter[str]:
    """Count the domains of a sample, or of all duplicates if they are few."""
    records = look_up_documents(found.sample, [subject.url_field], subject.storage_options)
    urls = (record.get(subject.url_field) for record in records.values())
    return Counter(domain for url in urls if (domain := _domain(url)))


def _domain(url: object) -> str:
    try:
        return (urlsplit(url).hostname or "") if isinstance(url, str) else ""
    except ValueError:
        return ""


def _pairs(groups: Sequence[ReportedCluster], subject: ReportedWorkflow) -> list[Pair]:
    names = subject.shown
    chosen = [(group, _choose_two(group)) for group in groups]
    places = [place for _, two in chosen if two for place in two]
    records = look_up_documents(places, names, subject.storage_options) if names else {}
    return [
        Pair(group.cluster_id.hex(), group.size, two,
             (_text(records[two[0]], names), _text(records[two[1]], names)),
             None if group.near is None else group.near.similarity)
        for group, two in chosen
        if two and two[0] in records and two[1] in records
    ]  # fmt: skip


def _choose_two(group: ReportedCluster) -> tuple[DocumentPlace, DocumentPlace] | None:
    if group.near is not None:
        return group.near.nearest, group.near.place
    if group.best is not None and group.others:
        return group.best, group.others[0]
    return (group.others[0], group.others[1]) if len(group.others) > 1 else None


def _text(record: Record, names: Sequence[str]) -> str:
    if len(names) == 1:
        return _as_text(record.get(names[0]))
    return "\n".join(f"{name}: {_as_text(record[name])}" for name in names if name in record)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)
