"""Buckets: turn scores into names, such as low, medium and high."""

import gzip
import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from curator_core import DocumentBatch, InputError, NodeInfo, ProcessingStage, WorkerInfo
from curator_core.model.arrow import score_numbers, with_column

MIN_SAMPLE_SIZE = 100
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
            problem = "both missing; give one" if self.thresholds is None else "both set; give one"
            yield f"thresholds and quantiles are {problem}"
            return
        if (self.quantiles is None) != (self.measured_on is None):
            yield "quantiles and measured_on must be set together"
        limits = self._limits
        if limits != sorted(set(limits)):
            yield f"the limits {limits} are not in ascending order"
        if self.quantiles is not None and not all(0 < share < 1 for share in limits):
            yield f"quantiles are {limits}, but must be between 0 and 1"
        if len(self.names) != len(limits) + 1:
            yield (
                f"{len(limits)} limits make {len(limits) + 1} buckets, but names has "
                f"{len(self.names)}: {', '.join(self.names)}"
            )
        if len(set(self.names)) < len(self.names):
            yield f"two buckets have the same name: {', '.join(self.names)}"

    @property
    def _limits(self) -> list[float]:
        return list(self.thresholds if self.thresholds is not None else self.quantiles or ())

    def setup_on_node(self, node: NodeInfo) -> None:
        self._compute_edges()

    def setup(self, worker: WorkerInfo) -> None:
        self._edges = self._compute_edges()

    def _compute_edges(self) -> list[float]:
        if self.thresholds is not None:
            return self.thresholds
        return quantile_edges(
            read_scores(self.measured_on or "", self.score_field), self.quantiles or ()
        )

    def process(self, task: DocumentBatch) -> DocumentBatch:
        scores = score_numbers(task.data, self.score_field)
        buckets = pa.array([self.bucket_of(score) for score in scores], pa.string())
        return task.with_data(with_column(task.data, self.bucket_field, buckets))

    def bucket_of(self, score: float | None) -> str | None:
        if score is None or score != score:
            return None
        return self.names[bisect_right(self._edges, score)]


def quantile_edges(scores: Sequence[float], quantiles: Sequence[float]) -> list[float]:
    """Return the scores at these quantiles."""
    if len(scores) < MIN_SAMPLE_SIZE:
        raise InputError(
            f"measured_on has {len(scores)} scores, too few for quantiles "
            f"(at least {MIN_SAMPLE_SIZE}); give thresholds"
        )
    edges = [float(edge) for edge in pc.quantile(pa.array(scores), list(quantiles)).to_pylist()]
    if len(set(edges)) < len(edges):
        raise InputError(
            f"the quantiles {list(quantiles)} have equal scores ({edges}), because too many scores "
            "are equal; give thresholds"
        )
    return edges


_ENDINGS = (".parquet", ".jsonl", ".jsonl.gz")


def read_scores(path: str, column: str) -> list[float]:
    """Return the numbers in a column of a Parquet or JSONL file, or of a folder of such files."""
    root = Path(path)
    files = sorted(p for p in root.iterdir() if _is_data(p)) if root.is_dir() else [root]
    if not files:
        raise InputError(f"{path} has no file that ends in {', '.join(_ENDINGS)}")
    found: list[float] = []
    for file in files:
        found += (
            _read_parquet(file, column) if file.suffix == ".parquet" else _read_jsonl(file, column)
        )
    return found


def _is_data(path: Path) -> bool:
    return path.name.endswith(_ENDINGS) and not path.name.startswith((".", "_"))


def _read_parquet(file: Path, column: str) -> list[float]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file, columns=[column])
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    if column not in table.column_names:
        raise InputError(f"{file} has no column {column!r}")
    try:
        return [float(score) for score in table[column].to_pylist() if score is not None]
    except (ValueError, TypeError) as error:
        raise InputError(f"cannot read scores from {file}: {error}") from error


def _read_jsonl(file: Path, column: str) -> list[float]:
    found = []
    try:
        raw = file.read_bytes()
        text = gzip.decompress(raw) if file.suffix == ".gz" else raw
        for line in text.splitlines():
            score = json.loads(line).get(column)
            if score is not None:
                found.append(float(score))
    except (OSError, EOFError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"cannot read scores from {file}: {error}") from error
    if not found:
        raise InputError(f"{file} has no numbers in {column!r}")
    return found
