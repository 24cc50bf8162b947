"""Buckets: turn scores into names, such as low, medium and high."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, InputError, ProcessingStage
from curator_core.model.arrow import numbers_in, with_column
from curator_core.model.resources import NodeInfo, WorkerInfo

from curator_text.models.samples import scores_in

LEAST_SAMPLE = 100
"""Quantiles of fewer scores are unreliable."""


@dataclass
class ScoreBuckets(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Adds the bucket of a score. A missing score gets no bucket.

    Thresholds are scores; quantiles are shares of the scores in files that an earlier run wrote.
    A score equal to a threshold belongs to the bucket above it.
    """

    score_field: str
    """The column that holds the score."""

    thresholds: list[float] | None = None
    """Lower limit of each bucket except the lowest, in ascending order: `[0.3, 0.7]`."""

    quantiles: list[float] | None = None
    """Alternative to thresholds: shares of the scores below each limit: `[0.5, 0.9]`."""

    measured_on: str | None = None
    """For quantiles: a Parquet or JSONL file, or a folder of them, with the same column."""

    names: list[str] = field(default_factory=lambda: ["low", "medium", "high"])
    """Names of the buckets, lowest first: one more than there are limits."""

    bucket_field: str = field(default="bucket", kw_only=True)
    """Output column for the bucket."""

    def inputs(self) -> Sequence[str]:
        return (self.score_field,)

    def outputs(self) -> Sequence[str]:
        return (self.bucket_field,)

    def check(self) -> Iterable[str]:
        if (self.thresholds is None) == (self.quantiles is None):
            both = "both missing; give one" if self.thresholds is None else "both set; give one"
            yield f"thresholds and quantiles are {both}"
            return
        if (self.quantiles is None) != (self.measured_on is None):
            yield "quantiles and measured_on belong together: shares, and the scores they are of"
        limits = self._limits
        if limits != sorted(set(limits)):
            yield f"the limits {limits} do not rise from one to the next"
        if self.quantiles is not None and not all(0 < share < 1 for share in limits):
            yield f"quantiles are {limits}, but must lie between 0 and 1"
        if len(self.names) != len(limits) + 1:
            yield (
                f"{len(limits)} limits make {len(limits) + 1} buckets, but names has "
                f"{len(self.names)}: {', '.join(self.names)}"
            )
        if len(set(self.names)) < len(self.names):
            yield f"two buckets have one name: {', '.join(self.names)}"

    @property
    def _limits(self) -> list[float]:
        return list(self.thresholds if self.thresholds is not None else self.quantiles or ())

    def setup_on_node(self, node: NodeInfo) -> None:
        self._found()

    def setup(self, worker: WorkerInfo) -> None:
        self._edges = self._found()

    def _found(self) -> list[float]:
        if self.thresholds is not None:
            return self.thresholds
        return edges_of(scores_in(self.measured_on or "", self.score_field), self.quantiles or ())

    def process(self, task: DocumentBatch) -> DocumentBatch:
        scores = numbers_in(task.data, self.score_field)
        buckets = pa.array([self.bucket_of(score) for score in scores], pa.string())
        return task.with_data(with_column(task.data, self.bucket_field, buckets))

    def bucket_of(self, score: float | None) -> str | None:
        if score is None or score != score:
            return None
        return self.names[bisect_right(self._edges, score)]


def edges_of(scores: Sequence[float], shares: Sequence[float]) -> list[float]:
    """Return the scores at these quantiles."""
    if len(scores) < LEAST_SAMPLE:
        raise InputError(
            f"measured_on has {len(scores)} scores, too few to take quantiles of "
            f"({LEAST_SAMPLE} at least); give thresholds"
        )
    edges = [float(edge) for edge in pc.quantile(pa.array(scores), list(shares)).to_pylist()]
    if len(set(edges)) < len(edges):
        raise InputError(
            f"the quantiles {list(shares)} fall on one score ({edges}): too many scores are equal; "
            "give thresholds"
        )
    return edges
