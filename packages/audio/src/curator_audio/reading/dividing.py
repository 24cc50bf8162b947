"""Dividing: lists of recordings are cut far more finely than documents are.

A line of three hundred bytes may stand for an hour of sound. Workers share what is divided, and a
run that was killed goes on where the last part ended.
"""

from copy import copy
from typing import TypeVar

from curator_core.io.readers.base import FileReader

PART_BYTES = 16 * 1024
"""So much of a list makes one source: about sixty lines."""

TOGETHER = 32
"""Recordings that make one batch: models take them together."""

R = TypeVar("R", bound=FileReader)


def finely(reader: R) -> R:
    """The same reader, with small parts unless it was told how large they are."""
    fine = copy(reader)
    if fine.blocksize is None and fine.files_per_partition is None:
        fine.blocksize = PART_BYTES
    return fine
