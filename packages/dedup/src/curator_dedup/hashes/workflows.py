"""Workflows that compare rows of any kind by hashes that may differ in a few bits."""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, get_args

from curator_core import InputError, Pipeline, WorkflowResult
from curator_core.errors import hint
from curator_core.io.filesystems import StorageOptions, join
from curator_core.io.partitioning import FilePartitioning
from curator_core.io.shuffle import ExchangeWriter
from curator_core.io.shuffle.partition import MOST_PARTITIONS
from curator_core.io.writers.base import Mode
from curator_core.model.files import FilePart
from curator_core.model.lineage import fingerprint
from curator_core.model.stages import AnyStage, flatten

from curator_dedup.corpora import partitions_for
from curator_dedup.counting import counts_in
from curator_dedup.decisions import Keep
from curator_dedup.folders import FolderWriter
from curator_dedup.hashes.clustering import LinkedClustering, LinkedListing
from curator_dedup.hashes.matching import BANDS, HashMatching
from curator_dedup.notes import read_note, write_note
from curator_dedup.partitions import PartitionListing, PartitionReading
from curator_dedup.places import WorkflowInFolders

_PARTITION_BYTES = 1 << 28
"""Bytes of keys and hashes per partition."""


@dataclass
class HashedWorkflow(WorkflowInFolders):
    """Workflow that finds near-duplicates by hashes of rows.

    It signs every row, matches rows that share a key, and decides which rows of a cluster are kept.
    Subclasses define how rows are read, signed, decided on and dropped.
    """

    input_path: str | list[str]
    """Input: files, folders, or patterns with * and **."""

    output_path: str
    """Folder for the rows that are kept."""

    priority_field: str | None = None
    """Column with numbers: of duplicates, the row with the highest is kept, whatever its size."""

    keep: Keep = "one"
    """Which duplicates to keep: one of each group, none, or all of them, marked."""

    add_clusters: bool | None = None
    """Add cluster_id, cluster_size and is_duplicate to each row. If unset, only for `mark`."""

    mode: Mode = "error"
    """What to do if the output folder has other data: fail, append, or overwrite."""

    partitions: int | None = None
    """Number of partitions, which are compared one by one. If unset, it depends on the input."""

    work_path: str | None = None
    """Folder for intermediate files. If unset, a hidden folder next to the output."""

    storage: StorageOptions = field(default_factory=dict, repr=False)
    """fsspec options for an object store."""

    reader: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """Custom reader that returns batches of such rows; only from Python."""

    writer: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """Custom writer; only from Python."""

    records: ClassVar[str]
    """Name of the rows, in counts and as the folder of the signed rows."""

    # Defined by each package

    @abstractmethod
    def own_reader(self) -> AnyStage:
        """Return the stage that reads the input, unless there is a `reader`."""

    @abstractmethod
    def own_writer(self) -> AnyStage:
        """Return the stage that writes the rows that are kept, unless there is a `writer`."""

    @property
    @abstractmethod
    def most_apart(self) -> int:
        """Maximum number of differing bits for two rows to be compared further."""

    @abstractmethod
    def num_bytes(self, files: Sequence[FilePart]) -> int:
        """Return the approximate size of all keys, which sets the number of partitions."""

    @abstractmethod
    def signing(self, files: Sequence[FilePart], partitions: int) -> AnyStage:
        """Return the stage that writes two folders: `BANDS` and `records`."""

    @abstractmethod
    def deciding(self) -> AnyStage:
        """Return the stage that decides which rows of each cluster are kept."""

    @abstractmethod
    def removing(self, decisions: str) -> AnyStage:
        """Return the stage that drops the rows that are not kept."""

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        """The allowed values of options that have a fixed set."""
        return {"keep": get_args(Keep), "mode": get_args(Mode)}

    def wrong_numbers(self) -> Iterator[str]:
        """Yield problems with numeric options of the subclass. Other options may be invalid too."""
        yield from ()

    def counts_of(self, signed: Mapping[str, int]) -> dict[str, int]:
        """Return counts from signing, other than the number of rows."""
        return {}

    # Common to all packages

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    def check(self) -> Iterable[str]:
        wrong = list(self._wrong_words())
        yield from wrong
        yield from self.wrong_numbers()
        if self.partitions is not None and not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"
        for stage in () if wrong else flatten([self.reading()]):
            yield from (told.replace("file_paths", "input_path") for told in stage.check())

    def _wrong_words(self) -> Iterator[str]:
        for name, known in self.choices.items():
            value = getattr(self, name)
            if value not in known:
                yield f"{name} is {value!r}{hint(str(value), known)}"

    def check_sources(self) -> Iterable[str]:
        for stage in flatten([self.reading()]):
            yield from stage.check_sources()

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.files()
        self._refuse_other_input(files)
        partitions = self.partitions or partitions_for(self.num_bytes(files), _PARTITION_BYTES)
        yield self._signing(files, partitions)
        self._refuse_unread(result)
        yield self._matching(partitions)
        yield self._clustering(partitions)
        yield self._deciding(partitions)
        yield self._removing()
        result.metadata |= self._counts(result)

    def files(self) -> list[FilePart]:
        listings = [one for one in flatten([self.reading()]) if isinstance(one, FilePartitioning)]
        return sorted(
            (file for listing in listings for file in listing.files()), key=lambda file: file.path
        )

    def reading(self) -> AnyStage:
        return self.own_reader() if self.reader is None else self.reader

    def _refuse_other_input(self, files: Sequence[FilePart]) -> None:
        """Refuse changed input: decisions cover all rows together and are wrong for other input."""
        note = self.folder("input.json")
        now = fingerprint(*(f"{file.path}\n{file.size}\n{file.version}" for file in files))
        before = read_note(note, self.storage_options)
        if before not in (None, now):
            raise InputError(
                f"{self.name}: the input is not that with which {self.work_dir} was begun; give "
                "another output_path, or remove that folder to begin anew"
            )
        write_note(note, now, self.storage_options)

    def _refuse_unread(self, result: WorkflowResult) -> None:
        """Fail if a file could not be read: all of its duplicates would be kept."""
        unread = [record for record in result.runs["sign"].quarantined if record.whole_task]
        if unread:
            raise InputError(
                f"{self.name}: {unread[0].reason}"
                + (f" (and {len(unread) - 1} more)" if unread[1:] else "")
                + "; mend the file or leave it out, then run the same command again"
            )

    def _signing(self, files: Sequence[FilePart], partitions: int) -> Pipeline:
        writer = FolderWriter(self.folder("signed"), storage_options=self.storage)
        stages = [self.reading(), self.signing(files, partitions), writer]
        return Pipeline("sign", stages=stages)

    def _matching(self, partitions: int) -> Pipeline:
        stages = [
            *self._parts(self._signed(BANDS), partitions),
            HashMatching(self.most_apart),
            self._exchange("links", "doc", 1),
        ]
        return self._later("match", stages)

    def _clustering(self, partitions: int) -> Pipeline:
        listing = LinkedListing(self.folder("links"), self._signed(self.records), self.storage)
        writer = self._exchange("members", "cluster", partitions)
        return self._later("cluster", [listing, LinkedClustering(self.storage), writer])

    def _deciding(self, partitions: int) -> Pipeline:
        stages = [
            *self._parts(self.folder("members"), partitions),
            self.deciding(),
            self._exchange("decisions", "doc", 1),
        ]
        return self._later("decide", stages)

    def _removing(self) -> Pipeline:
        writer = self.own_writer() if self.writer is None else self.writer
        removing = self.removing(self.folder("decisions"))
        return Pipeline("remove", stages=[self.reading(), removing, writer])

    def _signed(self, name: str) -> str:
        return join(self.folder("signed"), name)

    def _parts(self, folder: str, partitions: int) -> list[AnyStage]:
        listing = PartitionListing([folder], partitions, self.storage)
        return [listing, PartitionReading(partitions, self.storage)]

    def _exchange(self, folder: str, key: str, partitions: int) -> ExchangeWriter:
        return ExchangeWriter(
            self.folder(folder),
            key=key,
            partitions=partitions,
            hashed=True,
            storage_options=self.storage,
        )

    def _later(self, name: str, stages: list[AnyStage]) -> Pipeline:
        """Return a pipeline that may have no input, which is so if there are no duplicates."""
        return Pipeline(name, stages=stages, on_error="fail", allow_empty=True)

    def _counts(self, result: WorkflowResult) -> dict[str, int]:
        signed = counts_in(self._signed(self.records), self.storage_options)
        decided = counts_in(self.folder("decisions"), self.storage_options)
        return {
            self.records: signed[self.records],
            "unreadable": sum(record.items for record in result.runs["sign"].quarantined),
            **self.counts_of(signed),
            **{name: decided[name] for name in ("groups", "duplicates", "removed")},
            "kept": result.runs["remove"].stages["duplicate_removing"].items_out,
        }
