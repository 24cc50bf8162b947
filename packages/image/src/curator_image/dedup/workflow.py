"""Image deduplication as one workflow: find duplicates and remove them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from curator_core import AnyStage, FilePart, WorkflowResult
from curator_dedup.hamming import HammingWorkflow

from curator_image.dedup.bands import choose_bands
from curator_image.dedup.decide import DuplicateRemoving, PictureDeciding, WhichToKeep
from curator_image.dedup.sign import (
    PERCEPTUAL,
    PICTURES,
    CompareBy,
    PictureSigning,
    PictureSigningOptions,
    hash_bits,
)
from curator_image.storage_formats import (
    STORAGE_FORMATS,
    detect_storage_format,
    reader_for,
    writer_for,
)

THRESHOLDS: dict[CompareBy, int] = {"bytes": 0, "pixels": 0, "phash": 6, "dhash": 4, "pdq": 31}
"""Default thresholds in bits."""

_BYTES_OF_A_PICTURE = 50_000
"""Assumed size of a picture in bytes, to estimate the number of pictures from the input size."""

PicturesFormat: TypeAlias = Literal["auto", "webdataset", "folder", "parquet"]


@dataclass
class ImageDeduplicationWorkflow(HammingWorkflow):
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

    rows_name: ClassVar[str] = PICTURES

    name = "image_deduplication"

    @property
    def bits(self) -> int:
        """Maximum number of different bits between duplicates."""
        return THRESHOLDS[self.by] if self.threshold is None else self.threshold

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {
            "by": get_args(CompareBy),
            "which_to_keep": get_args(WhichToKeep),
            "input_format": get_args(PicturesFormat),
            "output_format": get_args(PicturesFormat),
            **super().allowed_values,
        }

    def check_numbers(self) -> Iterator[str]:
        if self.by not in PERCEPTUAL:
            if self.threshold and self.by in THRESHOLDS:
                yield f"threshold is {self.threshold}, but {self.by} must be equal: remove it"
            return
        highest = hash_bits(self.by) // 4
        if not 0 <= self.bits <= highest:
            yield (
                f"threshold is {self.bits}, but must be from 0 to {highest} of the "
                f"{hash_bits(self.by)} bits of {self.by}; random pictures differ in about half"
            )

    def write_report(self, result: WorkflowResult) -> str | None:
        """Write the report page if there is something new, and return its path."""
        if not self.report:
            return None
        from curator_image.report.duplicates import DuplicatesSource, find_page, write_duplicates

        page = find_page(self.work_dir, self.storage_options)
        if page is not None and result.did_nothing:
            return page
        options = self.storage_options
        subject = DuplicatesSource(
            self.name, self.work_dir, self.files(), self.input_stage(), options
        )
        return write_duplicates(subject, result.metadata)

    @property
    def _format(self) -> str:
        if self.input_format in STORAGE_FORMATS:
            return self.input_format
        return detect_storage_format(self.input_path, self.storage)

    def make_reader(self) -> AnyStage:
        return reader_for(self._format, self.input_path, self.storage)

    def make_writer(self) -> AnyStage:
        kind = self.output_format if self.output_format in STORAGE_FORMATS else self._format
        return writer_for(kind, self.output_path, self.mode, self.storage)

    def step_reader(self, folder: str, text_field: str | None) -> AnyStage:
        return reader_for("parquet", folder, self.storage)

    @property
    def max_distance(self) -> int:
        return self.bits

    def estimate_key_bytes(self, files: Sequence[FilePart]) -> int:
        expected = _estimate_pictures(files)
        keys = choose_bands(hash_bits(self.by), self.bits, expected).count
        return expected * keys * (18 + hash_bits(self.by) // 8)

    def make_signer(self, files: Sequence[FilePart], partitions: int) -> AnyStage:
        expected = _estimate_pictures(files)
        options = PictureSigningOptions(
            self.by, self.bits, expected, self.min_detail, self.priority_field
        )
        return PictureSigning(options, partitions)

    def make_decider(self) -> AnyStage:
        return PictureDeciding(self.bits, self.which_to_keep, keep=self.keep)

    def make_remover(self, decisions: str) -> AnyStage:
        return DuplicateRemoving(decisions, self.has_clusters, self.storage)

    def extra_counts(self, signed: Mapping[str, int]) -> dict[str, int]:
        return {"flat": signed["flat"]}


def _estimate_pictures(files: Sequence[FilePart]) -> int:
    """Estimate the number of pictures."""
    return max(1, sum(file.size for file in files) // _BYTES_OF_A_PICTURE)
