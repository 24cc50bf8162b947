"""Identities: an id for each row, which follows from its batch and its place there.

Two rows of one manifest may name the same recording, and are then duplicates of each other.
"""

from hashlib import blake2b

import numpy as np
from curator_dedup.hashes.distances import Words

from curator_audio.batches import AudioBatch

_BYTES = 8


def ids_of(batch: AudioBatch) -> Words:
    """Readers make the same batches, with the same ids, as long as their files are the same."""
    names = (f"{batch.task_id}\n{row}".encode() for row in range(batch.num_items))
    raw = b"".join(blake2b(name, digest_size=_BYTES).digest() for name in names)
    return np.frombuffer(raw, np.uint64)
