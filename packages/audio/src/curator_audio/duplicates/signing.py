"""Signing: the first pass, which computes fingerprints and lookup keys for each recording."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from curator_core import DocumentBatch, InputError, ProcessingStage, Rejected
from curator_core.io.filesystems import StorageOptions
from curator_dedup.counting import COUNTS
from curator_dedup.folders import batch_for
from curator_dedup.hashes.columns import hash_column, priority_column
from curator_dedup.hashes.distances import Words
from curator_dedup.hashes.ids import id_column, ids_in
from curator_dedup.hashes.matching import BANDS

from curator_audio.batches import PATH, AudioBatch
from curator_audio.duplicates.identities import ids_of
from curator_audio.duplicates.listening import DIGEST_BYTES, Digesting, PrintListening, Told
from curator_audio.fingerprints.anchors import KEYS, anchors_of
from curator_audio.fingerprints.prints import RATE, Frames
from curator_audio.forms import NATIVE, Form

CompareBy: TypeAlias = Literal["samples", "sound"]
"""What makes recordings duplicates: equal samples, or fingerprints that differ in few bits."""

RECORDINGS = "recordings"

Hashes: TypeAlias = npt.NDArray[np.uint8]

_FORM = Form(RATE)

_ID = "curator_audio.id"
"""Column that keeps the ids with their rows, because rows that cannot be decoded are removed."""


@dataclass(frozen=True)
class SigningOptions:
    """How to make recordings comparable."""

    by: CompareBy
    priority_field: str | None = None


class _Signed(NamedTuple):
    batch: AudioBatch
    ids: Words
    told: list[Told]
    frames: list[Frames]


@dataclass
class RecordingSigning(ProcessingStage[AudioBatch, DocumentBatch]):
    """Make two tables for each batch.

    `recordings` has a row per recording: doc (its id), digest, prints, seconds, priority, path.
    `bands` has a row per key: key, hash, doc. The digest is one of the keys, so that exact copies
    are found even if they are too short for fingerprints.
    """

    fans_out = True

    options: SigningOptions
    partitions: int
    storage_options: StorageOptions | None = field(default=None, repr=False)

    def inputs(self) -> Sequence[str]:
        more = () if self.options.priority_field is None else (self.options.priority_field,)
        return (PATH, *more)

    def columns_after(self, before: frozenset[str] | None) -> frozenset[str] | None:
        return None

    def process(self, task: AudioBatch) -> Iterator[DocumentBatch | Rejected]:
        known = task.with_columns({_ID: id_column(ids_of(task))})
        heard = known.listen(NATIVE, Digesting, self.storage_options)
        yield from heard.rejected
        if not heard.batch.num_items:
            return
        signed = self._signed(heard.batch, heard.values)
        yield batch_for(RECORDINGS, self._recordings(signed), key="doc", partitions=1)
        bands = _bands(signed)
        yield batch_for(BANDS, bands, key="key", hashed=True, partitions=self.partitions)

    def _signed(self, batch: AudioBatch, told: list[Told]) -> _Signed:
        ids = ids_in(batch.data.column(_ID))
        if self.options.by == "samples":
            none = Frames(np.zeros(0, np.uint32), np.zeros(0, np.float32))
            return _Signed(batch, ids, told, [none] * len(told))
        heard = batch.listen(_FORM, PrintListening, self.storage_options)
        if heard.rejected:
            raise InputError(f"heard once, but not twice: {heard.rejected[0].reason}")
        return _Signed(batch, ids, told, heard.values)

    def _recordings(self, signed: _Signed) -> pa.Table:
        rows = range(signed.batch.num_items)
        told = {"recordings": len(rows), "unprinted": sum(not len(f.prints) for f in signed.frames)}
        columns = {
            "doc": id_column(signed.ids),
            "digest": pa.array([one.digest for one in signed.told], pa.binary(DIGEST_BYTES)),
            "prints": pa.array([one.prints.tobytes() for one in signed.frames], pa.large_binary()),
            "seconds": pa.array([one.seconds for one in signed.told], pa.float64()),
            "priority": priority_column(signed.batch.data, self.options.priority_field),
            "path": pa.array([signed.batch.place(row) for row in rows], pa.string()),
        }
        return pa.table(columns, metadata={COUNTS: json.dumps(told)})


def _bands(signed: _Signed) -> pa.Table:
    digests = np.frombuffer(b"".join(one.digest for one in signed.told), np.uint8)
    digests = digests.reshape(-1, DIGEST_BYTES)
    keys = [digests[:, :8].copy().view(np.uint64)[:, 0]]
    hashes, docs = [digests], [signed.ids]
    for row, frames in enumerate(signed.frames):
        anchors = anchors_of(frames)
        keys.append(anchors.keys.reshape(-1))
        hashes.append(np.repeat(anchors.contexts, KEYS, axis=0))
        docs.append(np.repeat(signed.ids[row : row + 1], anchors.keys.size))
    every = np.concatenate(keys)
    return pa.table(
        {
            "key": id_column(every),
            "hash": hash_column(np.concatenate(hashes)),
            "doc": id_column(np.concatenate(docs)),
            "band": pa.array(np.zeros(len(every), np.int16)),
        }
    )
