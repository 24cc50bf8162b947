"""Parcels: stored chunks of tasks. The scheduler knows their sizes, never what is in them."""

from collections.abc import Hashable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Parcel:
    """`tasks` tasks stored as one object of `size` bytes on `node` (empty: nowhere special).

    The handle is the driver's own: anything hashable, and different for every parcel.
    """

    handle: Hashable
    tasks: int
    size: int
    node: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """The tasks `start` up to `stop` of a parcel."""

    handle: Hashable
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start
