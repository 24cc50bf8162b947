"""Blending: mix corpora by weight."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite

from curator_core import InputError, Pipeline, WorkflowResult
from curator_core.io.filesystems import as_text, join
from curator_core.model.lineage import fingerprint
from curator_core.model.stages import flatten

from curator_text.mixing.counting import BatchCount, RowCounts, counted_batches
from curator_text.mixing.exchanges import Exchange
from curator_text.mixing.scattering import Scattering
from curator_text.mixing.shares import apportioned, most_without_repeating, spread


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
        given = as_text(self.paths)
        return [given] if isinstance(given, str) else given

    @property
    def label(self) -> str:
        return self.name or ", ".join(self.path_list)


@dataclass(frozen=True)
class _Counted:
    """A source after counting its rows."""

    batches: list[BatchCount]
    wanted: int

    @property
    def rows(self) -> int:
        return sum(batch.rows for batch in self.batches)

    def copies(self) -> dict[str, tuple[int, int]]:
        """Map each batch to the number of full copies, and the number of rows to take once more."""
        whole, rest = divmod(self.wanted, self.rows)
        extras = spread(rest, [batch.rows for batch in self.batches])
        pairs = zip(self.batches, extras, strict=True)
        return {batch.task_id: (whole, extra) for batch, extra in pairs}


@dataclass
class BlendWorkflow(Exchange):
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
            yield "rows and epochs are both set, but one must decide; drop one"
        for name in ("rows", "epochs"):
            value = getattr(self, name)
            if value is not None and not (isfinite(value) and value > 0):
                yield f"{name} is {value}, but must be above 0"

    def check_sources(self) -> Iterable[str]:
        for source in self.sources:
            for stage in flatten([self.reader(source.path_list)]):
                yield from stage.check_sources()

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        for place, source in enumerate(self.sources):
            counting = RowCounts(self._counts(place), storage_options=self.storage_options)
            stages = [self.reader(source.path_list), counting]
            yield Pipeline(f"count-{place}", stages=stages, on_error="fail", allow_empty=True)
        counted = self._apportioned()
        self._tell(counted, result)
        buckets = self.bucket_count(self._size(counted))
        for place, (source, one) in enumerate(zip(self.sources, counted, strict=True)):
            copies = one.copies()
            scattering = Scattering(
                seed=self.seed + place,
                text_field=self.text_field,
                copies=copies,
                shares=fingerprint(json.dumps(copies, sort_keys=True)),
                source=source.label,
                source_field=self.source_field,
            )
            stages = self.scatter(source.path_list, scattering, str(place), buckets)
            yield Pipeline(f"scatter-{place}", stages=stages, on_error="fail", allow_empty=True)
        yield Pipeline("gather", stages=self.gather(buckets), on_error="fail")

    def _counts(self, place: int) -> str:
        return join(self.work_dir, "counts", str(place))

    def _apportioned(self) -> list[_Counted]:
        batches = [
            counted_batches(self._counts(place), self.storage_options)
            for place in range(len(self.sources))
        ]
        counts = [sum(batch.rows for batch in one) for one in batches]
        for source, count in zip(self.sources, counts, strict=True):
            if not count:
                raise InputError(f"blend: {source.label} has no rows; leave it out")
        weights = [source.weight for source in self.sources]
        wanted = apportioned(self._total(counts, weights), weights)
        return [_Counted(*pair) for pair in zip(batches, wanted, strict=True)]

    def _total(self, counts: Sequence[int], weights: Sequence[float]) -> int:
        if self.rows is not None:
            return self.rows
        if self.epochs is not None:
            return max(1, round(self.epochs * sum(counts)))
        return most_without_repeating(counts, weights)

    def _size(self, counted: Sequence[_Counted]) -> int:
        """Estimate the size of the result in bytes."""
        return sum(
            self.size_of(source.path_list) * one.wanted // one.rows
            for source, one in zip(self.sources, counted, strict=True)
        )

    def _tell(self, counted: Sequence[_Counted], result: WorkflowResult) -> None:
        result.metadata["sources"] = [
            {
                "source": source.label,
                "has": one.rows,
                "gives": one.wanted,
                "epochs": round(one.wanted / one.rows, 4),
            }
            for source, one in zip(self.sources, counted, strict=True)
        ]
