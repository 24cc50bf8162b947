"""Row ids: derived from the batch id and the position of the row in its batch.

Two rows of a manifest may name the same recording; they are then duplicates of each other.
"""

from hashlib import blake2b

import numpy as np
from curator_dedup.hashes.distances import Words

from curator_audio.batches import AudioBatch

_BYTES = 8


def ids_of(batch: AudioBatch) -> Words:
    """Return an id per row. Ids are stable while the input files do not change."""
    names = (f"{batch.task_id}\n{row}".encode() for row in range(batch.num_items))
    raw = b"".join(blake2b(name, digest_size=_BYTES).digest() for name in names)
    return np.frombuffer(raw, np.uint64)
