"""Finding and removing duplicate recordings in one call."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

from curator_core import InputError, Pipeline, Workflow, WorkflowResult
from curator_core.exchanges import ExchangeWriter
from curator_core.exchanges.placing import MOST_PARTITIONS
from curator_core.files import FilePart
from curator_core.filesystems import StorageOptions, as_text, join
from curator_core.lineage import fingerprint
from curator_core.partitioning import FilePartitioning
from curator_core.stages import AnyStage, flatten
from curator_core.suggestions import hint
from curator_core.writing.stages import Mode
from curator_dedup.corpora import partitions_for
from curator_dedup.counting import counts_in
from curator_dedup.decisions import Keep
from curator_dedup.folders import FolderWriter
from curator_dedup.hashes.clustering import LinkedClustering, LinkedListing
from curator_dedup.hashes.matching import HashMatching
from curator_dedup.notes import read_note, write_note
from curator_dedup.partitions import PartitionListing, PartitionReading

from curator_audio.duplicates.deciding import Likeness, RecordingDeciding, WhichToKeep
from curator_audio.duplicates.formats import format_of, reader_for
from curator_audio.duplicates.removing import DuplicateRemoving
from curator_audio.duplicates.signing import (
    BANDS,
    RECORDINGS,
    CompareBy,
    RecordingSigning,
    SigningOptions,
)
from curator_audio.writing.manifests import ManifestWriter

_CONTEXT_BITS = 32
"""In how many of 128 bits the surroundings of anchors may differ: only to ask the prints then."""

_PARTITION_BYTES = 1 << 28
"""So many bytes of keys and hashes make a partition."""

_KEY_BYTES = 800
"""About what the keys of a second take: three anchors with eight of them."""

_MOST_DIFFERING = 0.35
"""Other recordings differ in more, wherever they are laid on each other."""

RecordingsFormat: TypeAlias = Literal["auto", "manifest", "folder"]


@dataclass
class AudioDeduplicationWorkflow(Workflow):
    """Finds recordings that are the same, or sound the same, and keeps the best of each.

    Copies that were encoded again, resampled, made louder, filtered or shifted a little have nearly
    the same fingerprints. Only what shares a key is compared, then over its whole length: what is
    removed is always within the threshold of what stays. The result is a manifest of what stays.
    The same on every executor. Killed at any moment, it goes on where it was.
    """

    input_path: str | list[str]
    """Manifests (JSON Lines), or recordings: files, folders, or patterns with * and **."""

    output_path: str
    """The folder for the manifests of what stays."""

    by: CompareBy = "sound"
    """What makes duplicates: equal samples, or sound, whose fingerprints differ in few bits."""

    threshold: float = 0.25
    """The share of bits in which fingerprints of duplicates may differ."""

    overlap: float = 0.8
    """The share of the longer recording that both must have in common."""

    excerpts: bool = False
    """Whether a recording that is a part of a longer one is its duplicate as well."""

    which_to_keep: WhichToKeep = "longest"
    """Of duplicates: the longest (to a tenth of a second), the shortest, or the first."""

    priority_field: str | None = None
    """A column with numbers: of duplicates that with the highest stays, whatever its length."""

    keep: Keep = "one"
    """Of duplicates: one stays, none of them, or all of them with a mark."""

    add_clusters: bool | None = None
    """Adds cluster_id, cluster_size and is_duplicate to each row; by itself with `mark`."""

    input_format: RecordingsFormat = "auto"
    """manifest or folder; by the names of the files unless given."""

    mode: Mode = "error"
    """What to do where the output folder holds other data: refuse, append to it, or overwrite."""

    partitions: int | None = None
    """How many parts are compared one by one; follows from the input unless given."""

    work_path: str | None = None
    """Where the files in between lie; beside the result, hidden, unless given."""

    storage: StorageOptions = field(default_factory=dict, repr=False)
    """Options of fsspec for an object store."""

    reader: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """A reader of your own, which gives batches of recordings; from Python only."""

    writer: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """A writer of your own; from Python only."""

    name = "audio_deduplication"

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
        wrong = list(self._wrong_words())
        yield from wrong
        yield from self._wrong_numbers()
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"
        if not wrong:
            for stage in flatten([self._reader()]):
                yield from (told.replace("file_paths", "input_path") for told in stage.check())

    def _wrong_words(self) -> Iterator[str]:
        choices = {
            "by": get_args(CompareBy),
            "which_to_keep": get_args(WhichToKeep),
            "keep": get_args(Keep),
            "input_format": get_args(RecordingsFormat),
            "mode": get_args(Mode),
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                yield f"{name} is {value!r}{hint(str(value), known)}"

    def _wrong_numbers(self) -> Iterator[str]:
        if not 0 <= self.threshold <= _MOST_DIFFERING:
            yield (
                f"threshold is {self.threshold:g}, but must be from 0 to {_MOST_DIFFERING}: "
                "recordings that have nothing in common differ in less than half of their bits"
            )
        if not 0 < self.overlap <= 1:
            yield f"overlap is {self.overlap:g}, but must be more than 0, and 1 at most"
        if self.partitions is not None and not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"

    def check_sources(self) -> Iterable[str]:
        for stage in flatten([self._reader()]):
            yield from stage.check_sources()

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.files()
        self._refuse_other_input(files)
        partitions = self._partitions(files)
        yield self._signing(partitions)
        self._refuse_unread(result)
        yield self._matching(partitions)
        yield self._clustering(partitions)
        yield self._deciding(partitions)
        yield self._removing()
        result.metadata |= self._counts(result)

    def files(self) -> list[FilePart]:
        """All files of the input."""
        listings = [one for one in flatten([self._reader()]) if isinstance(one, FilePartitioning)]
        return sorted(
            (file for listing in listings for file in listing.files()), key=lambda file: file.path
        )

    def folder(self, name: str) -> str:
        return join(self.work_dir, name)

    def _reader(self) -> AnyStage:
        if self.reader is not None:
            return self.reader
        kind: str = self.input_format
        if kind == "auto":
            kind = format_of(self.input_path, self.storage)
        return reader_for(kind, self.input_path, self.storage)

    def _writer(self) -> AnyStage:
        if self.writer is not None:
            return self.writer
        return ManifestWriter(
            self.output_path, mode=self.mode, storage_options=self.storage or None
        )

    def _refuse_other_input(self, files: Sequence[FilePart]) -> None:
        """Decisions are on all recordings together, so they do not hold when some are added."""
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
        """A file that is not compared would come through with all of its duplicates."""
        unread = [record for record in result.runs["sign"].quarantined if record.whole_task]
        if unread:
            raise InputError(
                f"{self.name}: {unread[0].reason}"
                + (f" (and {len(unread) - 1} more)" if unread[1:] else "")
                + "; mend the file or leave it out, then run the same command again"
            )

    def _partitions(self, files: Sequence[FilePart]) -> int:
        """By the size of recordings; that of a manifest tells of its lines only."""
        if self.partitions is not None:
            return self.partitions
        kind = self.input_format
        if kind == "auto" and self.reader is None:
            kind = (
                "manifest" if format_of(self.input_path, self.storage) == "manifest" else "folder"
            )
        seconds_to_a_byte = 0.05 if kind == "manifest" else 1 / 8_000
        seconds = sum(file.size for file in files) * seconds_to_a_byte
        return partitions_for(int(seconds * _KEY_BYTES), _PARTITION_BYTES)

    def _signing(self, partitions: int) -> Pipeline:
        options = SigningOptions(self.by, self.priority_field)
        signing = RecordingSigning(options, partitions, self.storage or None)
        writer = FolderWriter(self.folder("signed"), storage_options=self.storage)
        return Pipeline("sign", stages=[self._reader(), signing, writer])

    def _matching(self, partitions: int) -> Pipeline:
        stages = [
            *self._reading(self._signed(BANDS), partitions),
            HashMatching(_CONTEXT_BITS if self.by == "sound" else 0),
            self._exchange("links", "doc", 1),
        ]
        return self._later("match", stages)

    def _clustering(self, partitions: int) -> Pipeline:
        listing = LinkedListing(self.folder("links"), self._signed(RECORDINGS), self.storage)
        writer = self._exchange("members", "cluster", partitions)
        return self._later("cluster", [listing, LinkedClustering(self.storage), writer])

    def _deciding(self, partitions: int) -> Pipeline:
        likeness = Likeness(self.threshold, self.overlap, self.excerpts)
        stages = [
            *self._reading(self.folder("members"), partitions),
            RecordingDeciding(likeness, self.keep, self.which_to_keep),
            self._exchange("decisions", "doc", 1),
        ]
        return self._later("decide", stages)

    def _removing(self) -> Pipeline:
        removing = DuplicateRemoving(self.folder("decisions"), self.has_clusters, self.storage)
        return Pipeline("remove", stages=[self._reader(), removing, self._writer()])

    def _signed(self, name: str) -> str:
        return join(self.folder("signed"), name)

    def _reading(self, folder: str, partitions: int) -> list[AnyStage]:
        listing = PartitionListing(folder, partitions, self.storage)
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
        """A pipeline that has nothing to do where there are no duplicates."""
        return Pipeline(name, stages=stages, on_error="fail", allow_empty=True)

    def _counts(self, result: WorkflowResult) -> dict[str, int]:
        signed = counts_in(self._signed(RECORDINGS), self.storage_options)
        decided = counts_in(self.folder("decisions"), self.storage_options)
        return {
            "recordings": signed["recordings"],
            "unreadable": sum(record.items for record in result.runs["sign"].quarantined),
            "unprinted": signed["unprinted"] if self.by == "sound" else 0,
            **{name: decided[name] for name in ("groups", "duplicates", "removed")},
            "kept": result.runs["remove"].stages["duplicate_removing"].items_out,
        }
