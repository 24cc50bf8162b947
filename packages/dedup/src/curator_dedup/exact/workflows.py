"""Finding and removing exact duplicates in one call."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, get_args

from curator_core import InputError, Pipeline, Workflow, WorkflowResult
from curator_core.compression import COMPRESSIONS
from curator_core.exchanges import ExchangeReader, ExchangeWriter
from curator_core.exchanges.placing import MOST_PARTITIONS
from curator_core.filesystems import StorageOptions, as_text, join
from curator_core.stages import AnyStage
from curator_core.suggestions import hint
from curator_core.writing.stages import Mode

from curator_dedup.blocks import BlockListing
from curator_dedup.counting import counts_in
from curator_dedup.decisions import Keep
from curator_dedup.exact.deciding import DuplicateDeciding
from curator_dedup.exact.hashing import DocumentHashing
from curator_dedup.removal.decided import CLUSTER_COLUMNS
from curator_dedup.removal.removing import Format, Removing
from curator_dedup.removal.writing import DocumentWriter
from curator_dedup.samples import sample_of

_PARTITION_BYTES = 1 << 30
"""So much text makes a partition of hashes: some ten to a few hundred megabytes in memory."""


@dataclass
class ExactDeduplicationWorkflow(Workflow):
    """Finds documents whose texts are equal, in files of JSON Lines and Parquet, and removes them.

    Of equal documents the first stays, by the order of paths and then of rows, or that of the
    highest priority: the same on every executor. Killed at any moment, it goes on where it was.
    """

    input_path: str | list[str]
    """Files, folders, or patterns with * and **, of JSON Lines and of Parquet."""

    output_path: str
    """The folder for what stays."""

    text_field: str = "text"
    """The field that is compared."""

    input_blocksize: int | str = "1GB"
    """About how much of the input is one task at most; small inputs are divided more finely."""

    keep: Keep = "one"
    """Of equal documents: one stays, none of them, or all of them with a mark."""

    priority_field: str | None = None
    """A field with numbers: of equal documents the one with the highest stays."""

    normalize: bool = False
    """Compare without regard to case, spaces, and forms of accents; the text itself is kept."""

    keep_empty: bool = True
    """Whether documents without text stay. They are not each other's duplicates."""

    add_clusters: bool | None = None
    """Adds cluster_id, cluster_size and is_duplicate to each document; by itself with `mark`."""

    output_format: Format = "same"
    """Which files to write: same as those read, jsonl or parquet."""

    compression: str | None = None
    """How to compress JSON Lines: gz, zst, bz2 or xz; not at all unless given."""

    mode: Mode = "error"
    """What to do where the output folder holds other data: refuse, append to it, or overwrite."""

    partitions: int | None = None
    """How many parts the hashes are compared in; a power of 2 that follows from the input unless
    given."""

    work_path: str | None = None
    """Where hashes and decisions lie; beside the result, hidden, unless given."""

    storage: StorageOptions = field(default_factory=dict, repr=False)
    """Options of fsspec for an object store."""

    name = "exact_deduplication"

    def __post_init__(self) -> None:
        self.input_path = as_text(self.input_path)
        self.output_path = str(self.output_path)

    @property
    def work_dir(self) -> str:
        return str(self.work_path or join(self.output_path, ".curator", self.name))

    @property
    def storage_options(self) -> dict[str, Any]:
        return dict(self.storage)

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    def check(self) -> Iterable[str]:
        """What is wrong with the options."""
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"
        choices = {
            "keep": get_args(Keep),
            "output_format": get_args(Format),
            "mode": get_args(Mode),
            "compression": (None, *COMPRESSIONS),
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                yield f"{name} is {value!r}{hint(str(value), filter(None, known))}"
        if self.partitions is not None and not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"
        if not self.text_field:
            yield "text_field is empty; name the field to compare"
        yield from self._listing().check()
        yield from self._wrong_fields()

    def check_sources(self) -> Iterable[str]:
        yield from self._listing().check_sources()

    def _wrong_fields(self) -> Iterator[str]:
        """What the first file that has any fields says of the names."""
        sample = sample_of(self._listing().listing, self.storage_options)
        if sample is None:
            return
        named = {"text_field": self.text_field, "priority_field": self.priority_field}
        for option, name in named.items():
            if name and name not in sample.fields:
                told = f"{option} is {name!r}, but {sample.name} has no such field"
                yield told + hint(name, sample.fields)
        for name in CLUSTER_COLUMNS if self.has_clusters else ():
            if name in sample.fields:
                yield f"{sample.name} has a field {name!r} already; rename it, or leave the " + (
                    "columns out (add_clusters=False)"
                )

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self._listing().files()
        partitions = self.partitions or _partitions_for(sum(file.size for file in files))
        yield self._hashing(partitions)
        self._refuse_unread(result)
        yield self._deciding(partitions)
        if files != self._listing().files():
            raise InputError(
                f"{self.name}: the input has changed in the meantime; run the same command again"
            )
        yield self._removing(partitions)
        result.metadata |= self._counts(result)

    def _hashing(self, partitions: int) -> Pipeline:
        options = self.storage_options
        hashing = DocumentHashing(self.text_field, self.normalize, self.priority_field, options)
        writer = ExchangeWriter(
            self._folder("hashes"),
            key="hash",
            partitions=partitions,
            hashed=True,
            storage_options=options,
        )
        return Pipeline("hash", stages=[self._listing(), hashing, writer])

    def _deciding(self, partitions: int) -> Pipeline:
        options = self.storage_options
        reader = ExchangeReader(self._folder("hashes"), partitions, storage_options=options)
        writer = ExchangeWriter(
            self._folder("decisions"), key="block", partitions=partitions, storage_options=options
        )
        deciding = DuplicateDeciding(self.keep, self.keep_empty)
        stages: list[AnyStage] = [reader, deciding, writer]
        return Pipeline("decide", stages=stages, on_error="fail", allow_empty=True)

    def _removing(self, partitions: int) -> Pipeline:
        options = self.storage_options
        listing = self._listing()
        listing.decisions, listing.partitions = self._folder("decisions"), partitions
        removing = Removing(
            partitions, self.text_field, self.output_format, self.has_clusters, options
        )
        writer = DocumentWriter(
            self.output_path, self.mode, self.compression, storage_options=options
        )
        return Pipeline("remove", stages=[listing, removing, writer], on_error="fail")

    def _listing(self) -> BlockListing:
        return BlockListing(
            self.input_path, self.input_blocksize, storage_options=self.storage_options
        )

    def _folder(self, name: str) -> str:
        return join(self.work_dir, name)

    def _refuse_unread(self, result: WorkflowResult) -> None:
        """A file that is not compared would come through with all of its duplicates."""
        hashed = result.runs["hash"]
        unread = [record for record in hashed.quarantined if record.whole_task]
        if unread:
            raise InputError(
                f"{self.name}: {unread[0].reason}"
                + (f" (and {len(unread) - 1} more)" if unread[1:] else "")
                + "; mend the file or leave it out, then run the same command again"
            )

    def _counts(self, result: WorkflowResult) -> dict[str, int]:
        hashed = counts_in(self._folder("hashes"), self.storage_options)
        decided = counts_in(self._folder("decisions"), self.storage_options)
        names = ("documents", "empty", "no_records", "groups", "duplicates", "removed")
        counts = {name: hashed[name] + decided[name] for name in names}
        if not self.keep_empty:
            counts["removed"] += counts["empty"]
        return {**counts, "kept": counts["documents"] - counts["removed"]}


def _partitions_for(num_bytes: int) -> int:
    """A power of 2, so that it seldom changes as a corpus grows."""
    number = 1 << max(0, -(-num_bytes // _PARTITION_BYTES) - 1).bit_length()
    return min(number, MOST_PARTITIONS)
