"""Batching: run rows of similar length through a model together, as many as its device can hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from curator_core import CuratorError
from curator_core.model.hardware import empty_device_cache, is_out_of_memory

Forward: TypeAlias = Callable[[Sequence[int]], Sequence[Any]]
"""Returns an answer for each of these rows."""


class TooLongError(CuratorError):
    """A single item is too long for the memory of the device."""


@dataclass
class MicroBatches:
    """Splits rows into micro-batches, and into smaller ones after the device ran out of memory.

    The limit is the number of rows times the longest of them, so that short rows still run in large
    batches. It never grows again: a batch that ran out of memory once is near the limit.
    """

    max_rows: int
    sort_by_length: bool = True
    on_out_of_memory: Callable[[int, int], None] | None = None
    """Called with the number of rows and their length, the first time that they do not fit."""
    max_cells: int | None = None
    """Maximum of rows times the longest of them; set it for devices that never report running out
    of memory."""
    too_long_message: Callable[[int], str] | None = None
    """Returns the message for an item of this length that does not fit even alone."""

    def run(
        self, lengths: Sequence[int], forward: Forward
    ) -> tuple[list[Any], dict[int, Exception]]:
        """Return the answers in the order of the rows, and the errors of rows without an answer."""
        answers: list[Any] = [None] * len(lengths)
        errors: dict[int, Exception] = {}
        order = _longest_first(lengths) if self.sort_by_length else list(range(len(lengths)))
        done = 0
        while done < len(order):
            rows = self._next_rows(order, done, lengths)
            results = self._try(rows, forward)
            if results is not None:
                for row, answer in zip(rows, results, strict=True):
                    answers[row] = answer
            elif len(rows) > 1:
                self._shrink(len(rows), max(lengths[row] for row in rows))
                continue
            else:
                errors[rows[0]] = self._too_long(lengths[rows[0]])
            done += len(rows)
        return answers, errors

    def _next_rows(self, order: Sequence[int], start: int, lengths: Sequence[int]) -> list[int]:
        rows: list[int] = []
        longest = 0
        for row in order[start : start + self.max_rows]:
            longest = max(longest, lengths[row])
            cells = longest * (len(rows) + 1)
            if rows and self.max_cells is not None and cells > self.max_cells:
                break
            rows.append(row)
        return rows

    def _try(self, rows: Sequence[int], forward: Forward) -> Sequence[Any] | None:
        """Return the answers, or None if out of memory. The error is not kept: it holds memory."""
        try:
            return forward(rows)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        empty_device_cache()
        return None

    def _shrink(self, rows: int, longest: int) -> None:
        if self.on_out_of_memory is not None:
            self.on_out_of_memory(rows, longest)
            self.on_out_of_memory = None
        self.max_cells = (rows // 2) * longest

    def _too_long(self, length: int) -> TooLongError:
        if self.too_long_message is not None:
            return TooLongError(self.too_long_message(length))
        return TooLongError(
            f"a single item of length {length} does not fit into the memory of the device; give "
            "the stage a larger device"
        )


def _longest_first(lengths: Sequence[int]) -> list[int]:
    """Return the rows by length, longest first.

    A row that does not fit shows early, and little padding is needed.
    """
    return sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
