"""Byte columns: bytes that lie in many places come to lie in one, as Arrow wants them."""

from array import array

import pyarrow as pa

_FIRST_BYTES = 64 * 1024


class BytesColumn:
    """Bytes put behind each other in Arrow's own memory, which is there again for the next ones.

    Memory that the system has to give anew costs more than what is done in it.
    """

    def __init__(self, expected_bytes: int = _FIRST_BYTES) -> None:
        self._allocate(expected_bytes)
        self._ends = array("i", [0])
        self._missing: list[int] = []

    def append(self, value: bytes | memoryview | None, /) -> None:
        start = end = self._ends[-1]
        if value is None:
            self._missing.append(len(self._ends) - 1)
        else:
            end += len(value)
            if end > len(self._view):
                self._grow(end)
            self._view[start:end] = value
        self._ends.append(end)

    def array(self, kind: pa.DataType | None = None) -> pa.Array:
        """What was appended, as bytes or as text."""
        count, used = len(self._ends) - 1, self._ends[-1]
        is_there = None
        if self._missing:
            missing = set(self._missing)
            is_there = pa.array([row not in missing for row in range(count)]).buffers()[1]
        buffers = [is_there, pa.py_buffer(self._ends), self._buffer.slice(0, used)]
        return pa.Array.from_buffers(kind or pa.binary(), count, buffers)

    def _grow(self, least: int) -> None:
        held = self._view[: self._ends[-1]]
        self._allocate(max(least, 2 * len(self._view)))
        self._view[: len(held)] = held

    def _allocate(self, size: int) -> None:
        self._buffer = pa.allocate_buffer(size)
        self._view = memoryview(self._buffer).cast("B")
