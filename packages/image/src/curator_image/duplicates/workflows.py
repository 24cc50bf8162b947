"""Finding and removing duplicate pictures in one call."""

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

from curator_image.duplicates.bands import bands_for
from curator_image.duplicates.deciding import PictureDeciding, WhichToKeep
from curator_image.duplicates.formats import FORMATS, format_of, reader_for, writer_for
from curator_image.duplicates.removing import DuplicateRemoving
from curator_image.duplicates.signing import (
    BANDS,
    PERCEPTUAL,
    PICTURES,
    CompareBy,
    PictureSigning,
    SigningOptions,
    bits_of,
)

THRESHOLDS: dict[CompareBy, int] = {"bytes": 0, "pixels": 0, "phash": 6, "dhash": 4, "pdq": 31}
"""How many bits may differ unless something else is said."""

_PARTITION_BYTES = 1 << 28
"""So many bytes of keys and hashes make a partition."""

_BYTES_OF_A_PICTURE = 50_000
"""About what one takes: from the size of the input it follows how many keys are best."""

PicturesFormat: TypeAlias = Literal["auto", "webdataset", "folder", "parquet"]


@dataclass
class ImageDeduplicationWorkflow(Workflow):
    """Finds pictures that are the same, or look nearly the same, and keeps the best of each.

    No pair that differs in at most `threshold` bits is missed, yet only those are compared that
    share a part of their hash. What is removed is always within the threshold of what stays. The
    same on every executor. Killed at any moment, it goes on where it was.
    """

    input_path: str | list[str]
    """Files, folders, or patterns with * and **: shards, pictures, or Parquet with pictures."""

    output_path: str
    """The folder for what stays."""

    by: CompareBy = "phash"
    """What makes duplicates: equal bytes, equal pixels, or a hash (phash, dhash, pdq) of which few
    bits differ."""

    threshold: int | None = None
    """In how many bits hashes of duplicates may differ: 6 of 64 for phash, 4 of 64 for dhash, 31 of
    256 for pdq unless given."""

    which_to_keep: WhichToKeep = "largest"
    """Of duplicates: that of the most pixels, of the fewest (smallest), or the first."""

    priority_field: str | None = None
    """A column with numbers: of duplicates that with the highest stays, whatever its size."""

    keep: Keep = "one"
    """Of duplicates: one stays, none of them, or all of them with a mark."""

    add_clusters: bool | None = None
    """Adds cluster_id, cluster_size and is_duplicate to each picture; by itself with `mark`."""

    min_detail: float = 2.0
    """Pictures whose levels differ less (standard deviation of 256 levels, as small as they are
    hashed) have nothing to be told apart by: they stay, and are nobody's duplicates."""

    input_format: PicturesFormat = "auto"
    """webdataset, folder or parquet; by the names of the files unless given."""

    output_format: PicturesFormat = "auto"
    """webdataset, folder or parquet; that of the input unless given."""

    mode: Mode = "error"
    """What to do where the output folder holds other data: refuse, append to it, or overwrite."""

    partitions: int | None = None
    """How many parts are compared one by one; follows from the input unless given."""

    work_path: str | None = None
    """Where the files in between lie; beside the result, hidden, unless given."""

    storage: StorageOptions = field(default_factory=dict, repr=False)
    """Options of fsspec for an object store."""

    report: bool = True
    """Whether to write a page that shows clusters side by side."""

    reader: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """A reader of your own, which gives batches of pictures; from Python only."""

    writer: AnyStage | None = field(default=None, kw_only=True, repr=False)
    """A writer of your own; from Python only."""

    name = "image_deduplication"

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
    def bits(self) -> int:
        """In how many bits duplicates may differ."""
        return THRESHOLDS[self.by] if self.threshold is None else self.threshold

    @property
    def has_clusters(self) -> bool:
        return self.keep == "mark" if self.add_clusters is None else self.add_clusters

    def check(self) -> Iterable[str]:
        wrong = list(self._wrong_words())
        yield from wrong
        if not self.output_path:
            yield "output_path is empty; name the folder for the result"
        if self.partitions is not None and not 1 <= self.partitions <= MOST_PARTITIONS:
            yield f"partitions is {self.partitions}, but must be from 1 to {MOST_PARTITIONS}"
        if not wrong:
            yield from self._wrong_threshold()
            for stage in flatten([self._reader()]):
                yield from (told.replace("file_paths", "input_path") for told in stage.check())

    def _wrong_words(self) -> Iterator[str]:
        choices = {
            "by": get_args(CompareBy),
            "which_to_keep": get_args(WhichToKeep),
            "keep": get_args(Keep),
            "input_format": get_args(PicturesFormat),
            "output_format": get_args(PicturesFormat),
            "mode": get_args(Mode),
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known:
                yield f"{name} is {value!r}{hint(str(value), known)}"

    def _wrong_threshold(self) -> Iterator[str]:
        if self.by not in PERCEPTUAL:
            if self.threshold:
                yield f"threshold is {self.threshold}, but {self.by} are equal or not; leave it out"
            return
        most = bits_of(self.by) // 4
        if not 0 <= self.bits <= most:
            yield (
                f"threshold is {self.bits}, but must be from 0 to {most} of the "
                f"{bits_of(self.by)} bits of {self.by}; pictures chosen at random differ in half"
            )

    def check_sources(self) -> Iterable[str]:
        for stage in flatten([self._reader()]):
            yield from stage.check_sources()

    def write_report(self, result: WorkflowResult) -> str | None:
        """Where the page is, which is written where there is anything new to tell."""
        if not self.report:
            return None
        from curator_image.reporting.duplicates import Subject, page_in, write_duplicates

        page = page_in(self.work_dir, self.storage_options)
        if page is not None and result.did_nothing:
            return page
        options = self.storage_options
        subject = Subject(self.name, self.work_dir, self.files(), self._reader(), options)
        return write_duplicates(subject, result.metadata)

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.files()
        self._refuse_other_input(files)
        expected = max(1, sum(file.size for file in files) // _BYTES_OF_A_PICTURE)
        partitions = self._partitions(expected)
        yield self._signing(partitions, expected)
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
        kind = format_of(self.input_path, self.storage) if self._is_auto else self.input_format
        return reader_for(kind, self.input_path, self.storage)

    @property
    def _is_auto(self) -> bool:
        return self.input_format not in FORMATS

    def _writer(self) -> AnyStage:
        if self.writer is not None:
            return self.writer
        kind: str = self.output_format
        if kind not in FORMATS:
            kind = format_of(self.input_path, self.storage) if self._is_auto else self.input_format
        return writer_for(kind, self.output_path, self.mode, self.storage)

    def _refuse_other_input(self, files: Sequence[FilePart]) -> None:
        """Decisions are on all pictures together, so they do not hold when some are added."""
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

    def _partitions(self, expected: int) -> int:
        if self.partitions is not None:
            return self.partitions
        keys = bands_for(bits_of(self.by), self.bits, expected).count
        return partitions_for(expected * keys * (18 + bits_of(self.by) // 8), _PARTITION_BYTES)

    def _signing(self, partitions: int, expected: int) -> Pipeline:
        options = SigningOptions(self.by, self.bits, expected, self.min_detail, self.priority_field)
        writer = FolderWriter(self.folder("signed"), storage_options=self.storage)
        stages = [self._reader(), PictureSigning(options, partitions), writer]
        return Pipeline("sign", stages=stages)

    def _matching(self, partitions: int) -> Pipeline:
        stages = [
            *self._reading(self._signed(BANDS), partitions),
            HashMatching(self.bits),
            self._exchange("links", "doc", 1),
        ]
        return self._later("match", stages)

    def _clustering(self, partitions: int) -> Pipeline:
        listing = LinkedListing(self.folder("links"), self._signed(PICTURES), self.storage)
        writer = self._exchange("members", "cluster", partitions)
        return self._later("cluster", [listing, LinkedClustering(self.storage), writer])

    def _deciding(self, partitions: int) -> Pipeline:
        stages = [
            *self._reading(self.folder("members"), partitions),
            PictureDeciding(self.bits, self.keep, self.which_to_keep),
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
        signed = counts_in(self._signed(PICTURES), self.storage_options)
        decided = counts_in(self.folder("decisions"), self.storage_options)
        unreadable = sum(record.items for record in result.runs["sign"].quarantined)
        return {
            "pictures": signed["pictures"],
            "unreadable": unreadable,
            "flat": signed["flat"],
            **{name: decided[name] for name in ("groups", "duplicates", "removed")},
            "kept": result.runs["remove"].stages["duplicate_removing"].items_out,
        }
