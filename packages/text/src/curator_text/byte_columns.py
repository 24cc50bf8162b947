"""Byte columns: build Arrow columns of bytes or text in one growing buffer."""

from array import array

import pyarrow as pa

_FIRST_BYTES = 64 * 1024


class BytesColumn:
    """Appends byte strings to a buffer from Arrow's memory pool.

    The pool reuses freed buffers; fresh memory from the system costs more than filling it.
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
        """Return the appended values as an Arrow array of bytes, or of `kind`."""
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
