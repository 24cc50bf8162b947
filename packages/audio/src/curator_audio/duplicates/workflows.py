"""Workflow that finds and removes duplicate recordings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from curator_core.model.files import FilePart
from curator_core.model.stages import AnyStage
from curator_dedup.hashes.workflows import HashedWorkflow

from curator_audio.duplicates.deciding import Likeness, RecordingDeciding, WhichToKeep
from curator_audio.duplicates.formats import format_of, reader_for
from curator_audio.duplicates.removing import DuplicateRemoving
from curator_audio.duplicates.signing import (
    RECORDINGS,
    CompareBy,
    RecordingSigning,
    SigningOptions,
)
from curator_audio.writing.manifests import ManifestWriter

_CONTEXT_BITS = 32
"""Bits of 128 in which the contexts of two anchors may differ. Loose: the prints decide later."""

_KEY_BYTES = 800
"""Approximate size of the keys of one second of sound: three anchors with eight keys each."""

_MOST_DIFFERING = 0.35
"""Unrelated recordings differ in a larger share of bits, however they are aligned."""

RecordingsFormat: TypeAlias = Literal["auto", "manifest", "folder"]


@dataclass
class AudioDeduplicationWorkflow(HashedWorkflow):
    """Find recordings that are equal or sound the same, and keep the best of each.

    Copies that were encoded again, resampled, amplified, filtered or shifted a little have nearly
    the same fingerprints. Recordings that share a key are compared over their whole length, so
    every removed recording is within the threshold of the one that is kept. The output is a
    manifest of the recordings that are kept. The result is the same on every executor. An
    interrupted run can be resumed.
    """

    input_path: str | list[str]
    """Manifests (JSON Lines), or recordings: files, folders, or patterns with * and **."""

    output_path: str
    """Folder for the manifests of the recordings that are kept."""

    by: CompareBy = "sound"
    """What makes duplicates: equal samples, or sound, whose fingerprints differ in few bits."""

    threshold: float = 0.25
    """Share of bits in which the fingerprints of duplicates may differ."""

    overlap: float = 0.8
    """Share of the longer recording that two duplicates must have in common."""

    excerpts: bool = False
    """Whether an excerpt of a longer recording is a duplicate of it."""

    which_to_keep: WhichToKeep = "longest"
    """Which duplicate to keep: the longest (to a tenth of a second), the shortest, or the first."""

    input_format: RecordingsFormat = "auto"
    """manifest or folder. With auto, detected from the names of the files."""

    records: ClassVar[str] = RECORDINGS

    name = "audio_deduplication"

    @property
    def choices(self) -> Mapping[str, Sequence[Any]]:
        return {
            "by": get_args(CompareBy),
            "which_to_keep": get_args(WhichToKeep),
            "input_format": get_args(RecordingsFormat),
            **super().choices,
        }

    def wrong_numbers(self) -> Iterator[str]:
        if not 0 <= self.threshold <= _MOST_DIFFERING:
            yield (
                f"threshold is {self.threshold:g}, but must be from 0 to {_MOST_DIFFERING}: "
                "recordings that have nothing in common differ in less than half of their bits"
            )
        if not 0 < self.overlap <= 1:
            yield f"overlap is {self.overlap:g}, but must be more than 0, and 1 at most"

    def own_reader(self) -> AnyStage:
        return reader_for(self._format, self.input_path, self.storage)

    def own_writer(self) -> AnyStage:
        return ManifestWriter(
            self.output_path, mode=self.mode, storage_options=self.storage or None
        )

    @property
    def _format(self) -> str:
        if self.input_format == "auto":
            return format_of(self.input_path, self.storage)
        return self.input_format

    @property
    def most_apart(self) -> int:
        return _CONTEXT_BITS if self.by == "sound" else 0

    def num_bytes(self, files: Sequence[FilePart]) -> int:
        """Estimate the size of the keys from the file sizes; manifests hold paths, not audio."""
        is_manifest = self.reader is None and self._format == "manifest"
        seconds_to_a_byte = 0.05 if is_manifest else 1 / 8_000
        return int(sum(file.size for file in files) * seconds_to_a_byte * _KEY_BYTES)

    def signing(self, files: Sequence[FilePart], partitions: int) -> AnyStage:
        options = SigningOptions(self.by, self.priority_field)
        return RecordingSigning(options, partitions, self.storage or None)

    def deciding(self) -> AnyStage:
        likeness = Likeness(self.threshold, self.overlap, self.excerpts)
        return RecordingDeciding(likeness, self.which_to_keep, keep=self.keep)

    def removing(self, decisions: str) -> AnyStage:
        return DuplicateRemoving(decisions, self.has_clusters, self.storage)

    def counts_of(self, signed: Mapping[str, int]) -> dict[str, int]:
        return {"unprinted": signed["unprinted"] if self.by == "sound" else 0}
