"""Pixel cache: the decoded pictures of a batch, kept for later stages."""

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from curator_image.decoding import Pixels, UndecodableError
from curator_image.views import View

Seen: TypeAlias = Pixels | UndecodableError
"""The pixels of a picture, or the error that prevented decoding."""

KEPT_BYTES = 256 * 1024 * 1024
"""Maximum bytes to cache per batch; further pictures are decoded again when needed."""


class PixelStore:
    """Decoded pictures of a batch by view and row, up to a number of bytes."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.size = 0
        self._seen: dict[View, list[Seen | None]] = {}

    def get(self, view: View, row: int) -> Seen | None:
        known = self._seen.get(view)
        return None if known is None else known[row]

    def add(self, view: View, row: int, seen: Seen) -> None:
        size = 0 if isinstance(seen, UndecodableError) else seen.nbytes
        if self.size + size > KEPT_BYTES:
            return
        self.size += size
        self._seen.setdefault(view, [None] * self.rows)[row] = seen

    def taken(self, rows: Sequence[int]) -> "PixelStore":
        """Return the cache for a batch made of some of the rows."""
        chosen = PixelStore(len(rows))
        for view, known in self._seen.items():
            for number, row in enumerate(rows):
                if (seen := known[row]) is not None:
                    chosen.add(view, number, seen)
        return chosen

    def views(self) -> Iterator[View]:
        yield from self._seen
