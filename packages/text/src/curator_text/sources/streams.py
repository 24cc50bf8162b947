"""Streams: pieces of bytes that are asked for by length, or up to a mark, in bounded memory."""

from collections.abc import Iterator


class Stream:
    """Bytes that come in pieces, and how many of them have been taken."""

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
        """The next so many bytes, or what there is, where they are: nothing is copied."""
        self._hold(size)
        start, self._at = self._at, min(self._at + size, len(self._data))
        return memoryview(self._data)[start : self._at]

    def take_mark(self, mark: bytes) -> bool:
        """Whether a mark is next, which is then taken."""
        self._hold(len(mark))
        is_there = self._data.startswith(mark, self._at)
        if is_there:
            self._at += len(mark)
        return is_there

    def peek(self, size: int) -> bytes:
        self._hold(size)
        return self._data[self._at : self._at + size]

    def take_to(self, mark: bytes, most: int) -> bytes | None:
        """All up to a mark, which is taken as well; None where it is not within `most` bytes."""
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
        """Leave out so many bytes, or what there is of them."""
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
        """Take one more piece on; what has been used of the others is let go."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self._taken += self._at
        self._data = self._data[self._at :] + piece
        self._at = 0
        return True
