"""Batching: rows of like length go through a model together, as many as its device can hold."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from curator_core import CuratorError

Forward: TypeAlias = Callable[[Sequence[int]], Sequence[Any]]
"""Gives an answer for each of these rows."""

_SIGNS = ("out of memory", "can't allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")


class TooLongError(CuratorError):
    """A single item that the device has no room for."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the device had no room: torch has an error for that, its libraries have signs."""
    import torch

    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def longest_first(lengths: Sequence[int]) -> list[int]:
    """The rows by length: what does not fit shows at once, and little is filled up in vain."""
    return sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))


@dataclass
class MicroBatches:
    """Cuts rows into micro-batches, and into smaller ones once a device had no room for one.

    What did not fit is remembered by its size, rows times the longest of them, so that short rows
    go on together in large numbers. It never grows back: who ran out of memory once is near it.
    """

    most_rows: int
    by_length: bool = True
    say: Callable[[int, int], None] | None = None
    """Told the first time that a number of rows of a length did not fit."""
    release: Callable[[], None] | None = None
    """Gives memory back before the next attempt."""
    most_cells: int | None = None
    """Rows times the longest of them, where the device would not say that it has no room."""
    alone: Callable[[int], str] | None = None
    """Words about an item of a length that does not fit even alone, with a way out."""

    def run(
        self, lengths: Sequence[int], forward: Forward
    ) -> tuple[list[Any], dict[int, Exception]]:
        """The answers in the order of the rows, and why single ones have none."""
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
        """The answers, or None where there was no room. The error is not kept: it holds memory."""
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
