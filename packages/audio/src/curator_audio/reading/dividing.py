"""Source sizes for lists of recordings: much smaller than for documents.

A line of three hundred bytes may name an hour of sound. Sources are distributed over workers, and
a resumed run repeats only unfinished sources.
"""

from copy import copy
from typing import TypeVar

from curator_core.io.readers.base import FileReader

PART_BYTES = 16 * 1024
"""Size of a source within a list: about sixty lines."""

TOGETHER = 32
"""Recordings per batch; models process them together."""

R = TypeVar("R", bound=FileReader)


def finely(reader: R) -> R:
    """Return a copy of the reader with small sources, unless their size was configured."""
    fine = copy(reader)
    if fine.blocksize is None and fine.files_per_partition is None:
        fine.blocksize = PART_BYTES
    return fine
