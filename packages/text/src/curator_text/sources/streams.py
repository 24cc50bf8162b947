"""Streams: read bytes by length or up to a delimiter, in bounded memory."""

from collections.abc import Iterator


class Stream:
    """A byte stream that arrives in pieces. `taken` counts the bytes consumed so far."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._data = b""
        self._at = 0
        self._taken = 0

    @property
    def taken(self) -> int:
        return self._taken + self._at

    def is_over(self) -> bool:
        return self._at == len(self._data) and not self._more()

    def take(self, size: int) -> memoryview:
        """Return the next `size` bytes, or fewer at the end, without copying."""
        self._hold(size)
        start, self._at = self._at, min(self._at + size, len(self._data))
        return memoryview(self._data)[start : self._at]

    def take_mark(self, mark: bytes) -> bool:
        """Consume `mark` if it comes next; return whether it did."""
        self._hold(len(mark))
        is_there = self._data.startswith(mark, self._at)
        if is_there:
            self._at += len(mark)
        return is_there

    def peek(self, size: int) -> bytes:
        self._hold(size)
        return self._data[self._at : self._at + size]

    def take_to(self, mark: bytes, most: int) -> bytes | None:
        """Return everything before `mark` and consume both; None if not within `most` bytes."""
        searched = self._at
        while True:
            place = self._data.find(mark, searched, self._at + most)
            if place >= 0:
                start, self._at = self._at, place + len(mark)
                return self._data[start:place]
            held = len(self._data) - self._at
            if held >= most:
                return None
            if not self._more():
                return None
            searched = max(self._at, self._at + held - len(mark) + 1)

    def skip(self, size: int) -> int:
        """Skip `size` bytes; return how many were skipped."""
        left = size
        while True:
            step = min(left, len(self._data) - self._at)
            self._at += step
            left -= step
            if not left or not self._more():
                return size - left

    def _hold(self, size: int) -> None:
        while len(self._data) - self._at < size and self._more():
            pass

    def _more(self) -> bool:
        """Append the next piece and free consumed data."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._taken += self._at
        self._data = self._data[self._at :] + piece
        self._at = 0
        return True
