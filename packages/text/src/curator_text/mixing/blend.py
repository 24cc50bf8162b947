"""Blend: mix corpora by weight."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import isfinite
from typing import BinaryIO, NamedTuple

import pyarrow as pa
from curator_core import (
    DocumentBatch,
    FileGroup,
    FilePart,
    InputError,
    Pipeline,
    WorkflowResult,
    flatten,
)
from curator_core.errors import NothingFoundError
from curator_core.io.filesystems import StorageOptions, join, open_input, paths_as_text
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.writers import FileWriter, open_draft
from curator_core.model.ids import fingerprint

from curator_text.mixing.random_keys import batch_label
from curator_text.mixing.random_order import RandomOrderWorkflow, Scattering


class BatchCount(NamedTuple):
    """Row count of a batch. Sort order does not depend on where the files are."""

    label: str
    rows: int
    task_id: str


@dataclass
class RowCounts(FileWriter):
    """Writes the number of rows of each batch to a file."""

    ending = ".json"

    def process(self, task: DocumentBatch) -> FileGroup:
        count = BatchCount(batch_label(task), task.num_items, task.task_id)
        final = join(self.path, f"part-{task.task_id}{self.ending}")
        with open_draft(final, self._worker, self.storage_options) as draft:
            draft.file.write(json.dumps(count).encode())
            draft.items = 1
        written = FileGroup([FilePart(draft.final, draft.size)])
        written.staged = (draft.staged_file(),)
        return written

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        file.write(json.dumps(sum(table.num_rows for table in tables)).encode())


def read_counts(folder: str, storage_options: StorageOptions | None) -> list[BatchCount]:
    """Return the batches of a source, in an order independent of how they were found."""
    try:
        parts = list(find_files([folder], FileFilter((".json",)), storage_options))
    except NothingFoundError:
        return []
    return sorted(_read(part.path, storage_options) for part in parts)


def _read(path: str, storage_options: StorageOptions | None) -> BatchCount:
    with open_input(path, storage_options) as file:
        try:
            return BatchCount(*json.loads(file.read()))
        except (ValueError, TypeError) as error:
            raise InputError(f"{path} is not a row count: {error}") from None


@dataclass(frozen=True)
class BlendSource:
    """One corpus of a blend, and its weight."""

    paths: str | list[str]
    """Files, folders or patterns of JSON lines or Parquet."""

    weight: float
    """Share of the rows, relative to the weights of the other sources."""

    name: str = ""
    """Name of the source; by default its paths."""

    @property
    def path_list(self) -> list[str]:
        paths = paths_as_text(self.paths)
        return [paths] if isinstance(paths, str) else paths

    @property
    def label(self) -> str:
        return self.name or ", ".join(self.path_list)


@dataclass(frozen=True)
class _CountedSource:
    """A source after counting its rows."""

    batches: list[BatchCount]
    target_rows: int

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.batches)

    def copies(self) -> dict[str, tuple[int, int]]:
        """Map each batch to the number of full copies, and the number of rows to take once more."""
        full_copies, rest = divmod(self.target_rows, self.rows)
        extras = spread_evenly(rest, [batch.rows for batch in self.batches])
        pairs = zip(self.batches, extras, strict=True)
        return {batch.task_id: (full_copies, extra) for batch, extra in pairs}


@dataclass
class BlendWorkflow(RandomOrderWorkflow):
    """Mixes corpora in given proportions, in random order.

    The rows of each source are counted first; then each source contributes its exact share. A
    source with too few rows repeats all of them, and some once more; a source with too many
    contributes a random sample, spread evenly over its files. No source is off by a whole row. With
    neither `rows` nor `epochs`, the result is the largest one without repeated rows.
    """

    sources: Sequence[BlendSource]
    """The corpora and their weights."""

    rows: int | None = None
    """Number of rows in the result."""

    epochs: float | None = None
    """Size of the result, as a multiple of the rows of all sources together."""

    source_field: str | None = None
    """Output column for the name of a row's source."""

    name = "blend"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not self.sources:
            yield "sources is empty; name the corpora to blend"
        for source in self.sources:
            if not (isfinite(source.weight) and source.weight > 0):
                yield f"the weight of {source.label} is {source.weight}, but must be above 0"
        if self.rows is not None and self.epochs is not None:
            yield "rows and epochs are both set; set only one"
        for name in ("rows", "epochs"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value > 0):
                yield f"{name} is {value}, but must be above 0"

    def check_sources(self) -> Iterable[str]:
        for source in self.sources:
            for stage in flatten([self.reader(source.path_list)]):
                yield from stage.check_sources()

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        for index, source in enumerate(self.sources):
            counting = RowCounts(self._counts_folder(index), storage_options=self.storage_options)
            stages = [self.reader(source.path_list), counting]
            yield Pipeline(f"count-{index}", stages=stages, on_error="fail", allow_empty=True)
        counted_sources = self._apportion_rows()
        self._record_shares(counted_sources, result)
        buckets = self.bucket_count(self._size(counted_sources))
        for index, (source, counted) in enumerate(zip(self.sources, counted_sources, strict=True)):
            copies = counted.copies()
            scattering = Scattering(
                seed=self.seed + index,
                text_field=self.text_field,
                copies=copies,
                shares=fingerprint(json.dumps(copies, sort_keys=True)),
                source=source.label,
                source_field=self.source_field,
            )
            stages = self.scatter_stages(source.path_list, scattering, str(index), buckets)
            yield Pipeline(f"scatter-{index}", stages=stages, on_error="fail", allow_empty=True)
        yield Pipeline("gather", stages=self.gather_stages(buckets), on_error="fail")

    def _counts_folder(self, index: int) -> str:
        return join(self.work_dir, "counts", str(index))

    def _apportion_rows(self) -> list[_CountedSource]:
        batches = [
            read_counts(self._counts_folder(index), self.storage_options)
            for index in range(len(self.sources))
        ]
        counts = [sum(batch.rows for batch in of_source) for of_source in batches]
        for source, count in zip(self.sources, counts, strict=True):
            if not count:
                raise InputError(f"blend: {source.label} has no rows; leave it out")
        weights = [source.weight for source in self.sources]
        targets = apportion(self._total(counts, weights), weights)
        return [_CountedSource(*pair) for pair in zip(batches, targets, strict=True)]

    def _total(self, counts: Sequence[int], weights: Sequence[float]) -> int:
        if self.rows is not None:
            return self.rows
        if self.epochs is not None:
            return max(1, round(self.epochs * sum(counts)))
        return max_total_without_repeats(counts, weights)

    def _size(self, counted_sources: Sequence[_CountedSource]) -> int:
        """Estimate the size of the result in bytes."""
        return sum(
            self.size_of(source.path_list) * counted.target_rows // counted.rows
            for source, counted in zip(self.sources, counted_sources, strict=True)
        )

    def _record_shares(
        self, counted_sources: Sequence[_CountedSource], result: WorkflowResult
    ) -> None:
        result.metadata["sources"] = [
            {
                "source": source.label,
                "has": counted.rows,
                "gives": counted.target_rows,
                "epochs": round(counted.target_rows / counted.rows, 4),
            }
            for source, counted in zip(self.sources, counted_sources, strict=True)
        ]


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Return integers proportional to the weights that add up to `total`.

    Uses the largest remainder method, so each number is less than 1 off its exact share.
    """
    exact = [Fraction(weight) for weight in weights]
    quotas = [total * weight / sum(exact) for weight in exact]
    shares = [int(quota) for quota in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda i: (shares[i] - quotas[i], i))
    for index in by_remainder[: total - sum(shares)]:
        shares[index] += 1
    return shares


def max_total_without_repeats(counts: Sequence[int], weights: Sequence[float]) -> int:
    """Return the largest total for which no source must contribute more rows than it has.

    Rounding up is safe, because the number of rows in a source is an integer too.
    """
    total_weight = sum(map(Fraction, weights))
    pairs = zip(counts, weights, strict=True)
    return min(int(count * total_weight / Fraction(weight)) for count, weight in pairs)


def spread_evenly(rows: int, counts: Sequence[int]) -> list[int]:
    """Return how many rows to take from each batch, evenly spread, `rows` in total."""
    total = sum(counts)
    edges = [0, *accumulate(counts)]
    return [rows * end // total - rows * start // total for start, end in pairwise(edges)]
