"""Workflow that finds and removes duplicate recordings."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from curator_core import AnyStage, FilePart, InputError
from curator_core.io.filesystems import StorageOptions
from curator_core.io.listing import FileFilter, find_files
from curator_dedup.hamming import HammingWorkflow

from curator_audio.dedup.decide import (
    DuplicateCriteria,
    DuplicateRemoving,
    RecordingDeciding,
    WhichToKeep,
)
from curator_audio.dedup.sign import (
    RECORDINGS,
    CompareBy,
    RecordingSigning,
    RecordingSigningOptions,
)
from curator_audio.readers.folder import ENDINGS, AudioFolderReader
from curator_audio.readers.manifest import ManifestReader
from curator_audio.writers.manifest import ManifestWriter

DetectedFormat: TypeAlias = Literal["manifest", "folder"]

_FIRST = 1000
"""Number of files to look at; there may be millions."""

_MANIFESTS = (".json", ".jsonl", ".ndjson")

_PACKED = (".gz", ".zst", ".bz2", ".xz")


def detect_format(
    paths: str | list[str], storage_options: StorageOptions | None = None
) -> DetectedFormat:
    """Detect the format by the extensions of the first files.

    Any audio file means "folder": a manifest stored next to recordings is ignored.
    """
    listed = [paths] if isinstance(paths, str) else paths
    try:
        found = find_files(listed, FileFilter(), storage_options or None)
        names = [file.path.lower() for file in islice(found, _FIRST)]
    except InputError:
        names = listed
    if any(name.endswith(ENDINGS) for name in names):
        return "folder"
    return "manifest" if any(map(_is_manifest, names)) else "folder"


def _is_manifest(path: str) -> bool:
    name = path
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name.endswith(_MANIFESTS)


def make_reader(
    kind: str, paths: str | list[str], storage_options: StorageOptions | None
) -> AnyStage:
    reader = ManifestReader if kind == "manifest" else AudioFolderReader
    made: AnyStage = reader(paths, storage_options=storage_options or None)
    return made


_CONTEXT_BITS = 32
"""Bits of 128 in which the contexts of two anchors may differ. Loose: the prints decide later."""

_KEY_BYTES = 800
"""Approximate size of the keys of one second of sound: three anchors with eight keys each."""

_MOST_DIFFERING = 0.35
"""Unrelated recordings differ in a larger share of bits, however they are aligned."""

InputFormat: TypeAlias = Literal["auto", "manifest", "folder"]


@dataclass
class AudioDeduplicationWorkflow(HammingWorkflow):
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

    input_format: InputFormat = "auto"
    """manifest or folder. With auto, detected from the names of the files."""

    rows_name: ClassVar[str] = RECORDINGS

    name = "audio_deduplication"

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {
            "by": get_args(CompareBy),
            "which_to_keep": get_args(WhichToKeep),
            "input_format": get_args(InputFormat),
            **super().allowed_values,
        }

    def check_numbers(self) -> Iterator[str]:
        if not 0 <= self.threshold <= _MOST_DIFFERING:
            yield (
                f"threshold is {self.threshold:g}, but must be from 0 to {_MOST_DIFFERING}: "
                "unrelated recordings differ in slightly less than half of their bits"
            )
        if not 0 < self.overlap <= 1:
            yield f"overlap is {self.overlap:g}, but must be more than 0 and at most 1"

    def make_reader(self) -> AnyStage:
        return make_reader(self._format, self.input_path, self.storage)

    def make_writer(self) -> AnyStage:
        return ManifestWriter(
            self.output_path, mode=self.mode, storage_options=self.storage or None
        )

    def step_writer(self, folder: str) -> AnyStage:
        return ManifestWriter(folder, storage_options=self.storage or None)

    def step_reader(self, folder: str, text_field: str | None) -> AnyStage:
        return ManifestReader(folder, storage_options=self.storage or None)

    @property
    def _format(self) -> str:
        if self.input_format == "auto":
            return detect_format(self.input_path, self.storage)
        return self.input_format

    @property
    def max_distance(self) -> int:
        return _CONTEXT_BITS if self.by == "sound" else 0

    def estimate_key_bytes(self, files: Sequence[FilePart]) -> int:
        """Estimate the size of the keys from the file sizes; manifests hold paths, not audio."""
        is_manifest = self.reader is None and self._format == "manifest"
        seconds_to_a_byte = 0.05 if is_manifest else 1 / 8_000
        return int(sum(file.size for file in files) * seconds_to_a_byte * _KEY_BYTES)

    def make_signer(self, files: Sequence[FilePart], partitions: int) -> AnyStage:
        options = RecordingSigningOptions(self.by, self.priority_field)
        return RecordingSigning(options, partitions, self.storage or None)

    def make_decider(self) -> AnyStage:
        criteria = DuplicateCriteria(self.threshold, self.overlap, self.excerpts)
        return RecordingDeciding(criteria, self.which_to_keep, keep=self.keep)

    def make_remover(self, decisions: str) -> AnyStage:
        return DuplicateRemoving(decisions, self.has_clusters, self.storage)

    def extra_counts(self, signed: Mapping[str, int]) -> dict[str, int]:
        return {"unprinted": signed["unprinted"] if self.by == "sound" else 0}
