"""Image deduplication as one workflow: find duplicates and remove them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from curator_core import WorkflowResult
from curator_core.model.files import FilePart
from curator_core.model.stages import AnyStage
from curator_dedup.hashes.workflows import HashedWorkflow

from curator_image.duplicates.bands import bands_for
from curator_image.duplicates.deciding import PictureDeciding, WhichToKeep
from curator_image.duplicates.formats import FORMATS, format_of, reader_for, writer_for
from curator_image.duplicates.removing import DuplicateRemoving
from curator_image.duplicates.signing import (
    PERCEPTUAL,
    PICTURES,
    CompareBy,
    PictureSigning,
    SigningOptions,
    bits_of,
)

THRESHOLDS: dict[CompareBy, int] = {"bytes": 0, "pixels": 0, "phash": 6, "dhash": 4, "pdq": 31}
"""Default thresholds in bits."""

_BYTES_OF_A_PICTURE = 50_000
"""Assumed size of a picture in bytes, to estimate the number of pictures from the input size."""

PicturesFormat: TypeAlias = Literal["auto", "webdataset", "folder", "parquet"]


@dataclass
class ImageDeduplicationWorkflow(HashedWorkflow):
    """Find equal or nearly equal pictures, and keep the best of each group.

    All pairs that differ in at most `threshold` bits are found, although only pictures that share
    part of their hash are compared. A removed picture is always within the threshold of a kept one.
    All executors give the same result. If it is interrupted, run it again to resume.
    """

    input_path: str | list[str]
    """Files, folders, or patterns with * and **: shards, pictures, or Parquet with pictures."""

    output_path: str
    """Output folder for the pictures that are kept."""

    by: CompareBy = "phash"
    """How to compare: equal `bytes`, equal `pixels`, or a perceptual hash within a few bits (phash,
    dhash, pdq)."""

    threshold: int | None = None
    """Maximum number of different bits between duplicates. By default 6 of 64 for phash, 4 of 64
    for dhash, 31 of 256 for pdq."""

    which_to_keep: WhichToKeep = "largest"
    """Which duplicate to keep: that with the most pixels, the fewest (smallest), or the first."""

    min_detail: float = 2.0
    """Minimum detail: the standard deviation of the 256 grey levels, at the size used for hashing.
    Pictures with less detail cannot be compared; they are kept and never count as duplicates."""

    input_format: PicturesFormat = "auto"
    """webdataset, folder or parquet; detected from the file names by default."""

    output_format: PicturesFormat = "auto"
    """webdataset, folder or parquet; the input format by default."""

    report: bool = True
    """Write a page that shows clusters side by side."""

    records: ClassVar[str] = PICTURES

    name = "image_deduplication"

    @property
    def bits(self) -> int:
        """Maximum number of different bits between duplicates."""
        return THRESHOLDS[self.by] if self.threshold is None else self.threshold

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        return {
            "by": get_args(CompareBy),
            "which_to_keep": get_args(WhichToKeep),
            "input_format": get_args(PicturesFormat),
            "output_format": get_args(PicturesFormat),
            **super().choices,
        }

    def wrong_numbers(self) -> Iterator[str]:
        if self.by not in PERCEPTUAL:
            if self.threshold and self.by in THRESHOLDS:
                yield f"threshold is {self.threshold}, but {self.by} are equal or not; leave it out"
            return
        most = bits_of(self.by) // 4
        if not 0 <= self.bits <= most:
            yield (
                f"threshold is {self.bits}, but must be from 0 to {most} of the "
                f"{bits_of(self.by)} bits of {self.by}; pictures chosen at random differ in half"
            )

    def write_report(self, result: WorkflowResult) -> str | None:
        """Write the report page if there is something new, and return its path."""
        if not self.report:
            return None
        from curator_image.reporting.duplicates import Subject, page_in, write_duplicates

        page = page_in(self.work_dir, self.storage_options)
        if page is not None and result.did_nothing:
            return page
        options = self.storage_options
        subject = Subject(self.name, self.work_dir, self.files(), self.reading(), options)
        return write_duplicates(subject, result.metadata)

    @property
    def _format(self) -> str:
        if self.input_format in FORMATS:
            return self.input_format
        return format_of(self.input_path, self.storage)

    def own_reader(self) -> AnyStage:
        return reader_for(self._format, self.input_path, self.storage)

    def own_writer(self) -> AnyStage:
        kind = self.output_format if self.output_format in FORMATS else self._format
        return writer_for(kind, self.output_path, self.mode, self.storage)

    @property
    def most_apart(self) -> int:
        return self.bits

    def num_bytes(self, files: Sequence[FilePart]) -> int:
        expected = _expected(files)
        keys = bands_for(bits_of(self.by), self.bits, expected).count
        return expected * keys * (18 + bits_of(self.by) // 8)

    def signing(self, files: Sequence[FilePart], partitions: int) -> AnyStage:
        expected = _expected(files)
        options = SigningOptions(self.by, self.bits, expected, self.min_detail, self.priority_field)
        return PictureSigning(options, partitions)

    def deciding(self) -> AnyStage:
        return PictureDeciding(self.bits, self.which_to_keep, keep=self.keep)

    def removing(self, decisions: str) -> AnyStage:
        return DuplicateRemoving(decisions, self.has_clusters, self.storage)

    def counts_of(self, signed: Mapping[str, int]) -> dict[str, int]:
        return {"flat": signed["flat"]}


def _expected(files: Sequence[FilePart]) -> int:
    """Estimate the number of pictures."""
    return max(1, sum(file.size for file in files) // _BYTES_OF_A_PICTURE)
