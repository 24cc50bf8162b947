"""Batching: run rows of similar length through a model together, as many as its device can hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from curator_core import CuratorError

Forward: TypeAlias = Callable[[Sequence[int]], Sequence[Any]]
"""Returns an answer for each of these rows."""

_SIGNS = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")


class TooLongError(CuratorError):
    """A single item is too long for the memory of the device."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether the device ran out of memory, by the type or the message of the error."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def longest_first(lengths: Sequence[int]) -> list[int]:
    """Return the rows by length, longest first.

    A row that does not fit shows early, and little padding is needed.
    """
    return sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))


@dataclass
class MicroBatches:
    """Splits rows into micro-batches, and into smaller ones after the device ran out of memory.

    The limit is the number of rows times the longest of them, so that short rows still run in large
    batches. It never grows again: a batch that ran out of memory once is near the limit.
    """

    most_rows: int
    by_length: bool = True
    say: Callable[[int, int], None] | None = None
    """Called with the number of rows and their length, the first time that they do not fit."""
    release: Callable[[], None] | None = None
    """Frees memory before the next attempt."""
    most_cells: int | None = None
    """Maximum of rows times the longest of them; set it for devices that never report running out
    of memory."""
    alone: Callable[[int], str] | None = None
    """Returns the message for an item of a length that does not fit even alone, with a remedy."""

    def run(
        self, lengths: Sequence[int], forward: Forward
    ) -> tuple[list[Any], dict[int, Exception]]:
        """Return the answers in the order of the rows, and the errors of rows without an answer."""
        answers: list[Any] = [None] * len(lengths)
        failed: dict[int, Exception] = {}
        order = longest_first(lengths) if self.by_length else list(range(len(lengths)))
        done = 0
        while done < len(order):
            rows = self._next(order, done, lengths)
            found = self._attempt(rows, forward)
            if found is not None:
                for row, answer in zip(rows, found, strict=True):
                    answers[row] = answer
            elif len(rows) > 1:
                self._shrink(len(rows), max(lengths[row] for row in rows))
                continue
            else:
                failed[rows[0]] = self._too_long(lengths[rows[0]])
            done += len(rows)
        return answers, failed

    def _next(self, order: Sequence[int], start: int, lengths: Sequence[int]) -> list[int]:
        rows: list[int] = []
        longest = 0
        for row in order[start : start + self.most_rows]:
            longest = max(longest, lengths[row])
            cells = longest * (len(rows) + 1)
            if rows and self.most_cells is not None and cells > self.most_cells:
                break
            rows.append(row)
        return rows

    def _attempt(self, rows: Sequence[int], forward: Forward) -> Sequence[Any] | None:
        """Return the answers, or None if out of memory. The error is not kept: it holds memory."""
        try:
            return forward(rows)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
        if self.release is not None:
            self.release()
        return None

    def _shrink(self, rows: int, longest: int) -> None:
        if self.say is not None:
            self.say(rows, longest)
            self.say = None
        self.most_cells = (rows // 2) * longest

    def _too_long(self, length: int) -> TooLongError:
        if self.alone is not None:
            return TooLongError(self.alone(length))
        return TooLongError(
            f"the device has no room for this item alone (length {length}); "
            "give the stage a larger device"
        )
