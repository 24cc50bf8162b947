"""The first pass: compute an id, a digest, fingerprints and lookup keys for each recording."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, InputError, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_dedup.columns import binary_column, numbers_in
from curator_dedup.hamming import BANDS, priority_column
from curator_dedup.hashing import U64Array
from curator_dedup.intermediate_files import batch_for_folder, with_counts

from curator_audio.audio_batch import PATH, AudioBatch
from curator_audio.dedup.fingerprints import (
    KEYS,
    RATE,
    FingerprintBuilder,
    FingerprintFrames,
    find_anchors,
)
from curator_audio.waveform import NATIVE, AudioFormat, Waveform

_BYTES = 8


def row_ids(batch: AudioBatch) -> U64Array:
    """Return an id per row. Ids are stable while the input files do not change."""
    names = (f"{batch.task_id}\n{row}".encode() for row in range(batch.num_items))
    raw = b"".join(hashlib.blake2b(name, digest_size=_BYTES).digest() for name in names)
    return np.frombuffer(raw, np.uint64)


DIGEST_BYTES = 16


@dataclass(frozen=True)
class RecordingDigest:
    """Digest and length of a recording, computed from all its samples as recorded."""

    digest: bytes
    seconds: float


class DigestAccumulator:
    """Digest all samples of all channels; equal samples at an equal rate have equal digests."""

    def __init__(self) -> None:
        self._digests: list[hashlib.blake2b] = []
        self._rate = 1
        self._samples = 0

    def add(self, block: Waveform) -> None:
        import numpy as np

        channels = block.samples.shape[0]
        self._digests = self._digests or [
            hashlib.blake2b(digest_size=DIGEST_BYTES) for _ in range(channels)
        ]
        for digest, row in zip(self._digests, block.samples, strict=True):
            positive = row + np.float32(0)  # turns -0.0 into 0.0
            digest.update(positive.tobytes())
        self._rate = block.sample_rate
        self._samples += block.samples.shape[1]

    def result(self) -> RecordingDigest:
        whole = hashlib.blake2b(str(self._rate).encode(), digest_size=DIGEST_BYTES)
        for digest in self._digests:
            whole.update(digest.digest())
        return RecordingDigest(whole.digest(), self._samples / self._rate)


class FingerprintAccumulator:
    def __init__(self) -> None:
        self._builder = FingerprintBuilder()

    def add(self, block: Waveform) -> None:
        self._builder.add(block.samples[0])

    def result(self) -> FingerprintFrames:
        return self._builder.frames()


CompareBy: TypeAlias = Literal["samples", "sound"]
"""What makes recordings duplicates: equal samples, or fingerprints that differ in few bits."""

RECORDINGS = "recordings"

Hashes: TypeAlias = npt.NDArray[np.uint8]

_FORMAT = AudioFormat(RATE)

_ID = "curator_audio.id"
"""Column that keeps the ids with their rows, because rows that cannot be decoded are removed."""


@dataclass(frozen=True)
class RecordingSigningOptions:
    """How to make recordings comparable."""

    by: CompareBy
    priority_field: str | None = None


class _SignedRecordings(NamedTuple):
    batch: AudioBatch
    ids: U64Array
    digests: list[RecordingDigest]
    frames: list[FingerprintFrames]


@dataclass
class RecordingSigning(ProcessingStage[AudioBatch, DocumentBatch]):
    """Make two tables for each batch.

    `recordings` has a row per recording: doc (its id), digest, prints, seconds, priority, path.
    `bands` has a row per key: key, hash, doc. The digest is one of the keys, so that exact copies
    are found even if they are too short for fingerprints.
    """

    fans_out = True

    options: RecordingSigningOptions
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def inputs(self) -> Sequence[str]:
        more = () if self.options.priority_field is None else (self.options.priority_field,)
        return (PATH, *more)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None

    def process(self, task: AudioBatch) -> Iterator[DocumentBatch | Rejected]:
        identified = task.with_columns({_ID: binary_column(row_ids(task))})
        decoded = identified.decode_into(NATIVE, DigestAccumulator, self.storage_options)
        yield from decoded.rejected
        if not decoded.batch.num_items:
            return
        signed = self._sign(decoded.batch, decoded.values)
        yield batch_for_folder(RECORDINGS, self._recordings(signed), key="doc", partitions=1)
        bands = _bands(signed)
        yield batch_for_folder(BANDS, bands, key="key", hashed=True, partitions=self.partitions)

    def _sign(self, batch: AudioBatch, digests: list[RecordingDigest]) -> _SignedRecordings:
        ids = numbers_in(batch.data.column(_ID))
        if self.options.by == "samples":
            none = FingerprintFrames(np.zeros(0, np.uint32), np.zeros(0, np.float32))
            return _SignedRecordings(batch, ids, digests, [none] * len(digests))
        decoded = batch.decode_into(_FORMAT, FingerprintAccumulator, self.storage_options)
        if decoded.rejected:
            raise InputError(f"decoding failed the second time: {decoded.rejected[0].reason}")
        return _SignedRecordings(batch, ids, digests, decoded.values)

    def _recordings(self, signed: _SignedRecordings) -> pa.Table:
        rows = range(signed.batch.num_items)
        counts = {
            "recordings": len(rows),
            "unprinted": sum(not len(frames.prints) for frames in signed.frames),
        }
        columns = {
            "doc": binary_column(signed.ids),
            "digest": pa.array([one.digest for one in signed.digests], pa.binary(DIGEST_BYTES)),
            "prints": pa.array([one.prints.tobytes() for one in signed.frames], pa.large_binary()),
            "seconds": pa.array([one.seconds for one in signed.digests], pa.float64()),
            "priority": priority_column(signed.batch.data, self.options.priority_field),
            "path": pa.array([signed.batch.describe_row(row) for row in rows], pa.string()),
        }
        return with_counts(pa.table(columns), counts)


def _bands(signed: _SignedRecordings) -> pa.Table:
    digests = np.frombuffer(b"".join(one.digest for one in signed.digests), np.uint8)
    digests = digests.reshape(-1, DIGEST_BYTES)
    keys = [digests[:, :8].copy().view(np.uint64)[:, 0]]
    hashes, docs = [digests], [signed.ids]
    for row, frames in enumerate(signed.frames):
        anchors = find_anchors(frames)
        keys.append(anchors.keys.reshape(-1))
        hashes.append(np.repeat(anchors.contexts, KEYS, axis=0))
        docs.append(np.repeat(signed.ids[row : row + 1], anchors.keys.size))
    every = np.concatenate(keys)
    return pa.table(
        {
            "key": binary_column(every),
            "hash": binary_column(np.concatenate(hashes)),
            "doc": binary_column(np.concatenate(docs)),
            "band": pa.array(np.zeros(len(every), np.int16)),
        }
    )
