"""What did not fit is halved, and the rest goes on; answers stay with their rows."""

from collections.abc import Sequence

import pytest
import torch
from curator_models.batching import MicroBatches, TooLongError, is_out_of_memory
from hypothesis import given
from hypothesis import strategies as st


class Device:
    """Has room for so many cells (rows times the longest), and raises torch's own error beyond."""

    def __init__(self, lengths: Sequence[int], room: int) -> None:
        self.lengths = lengths
        self.room = room
        self.tried: list[int] = []

    def __call__(self, rows: Sequence[int]) -> list[str]:
        self.tried.append(len(rows))
        if len(rows) * max(self.lengths[row] for row in rows) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return [f"row {row}" for row in rows]


def test_it_halves_until_it_fits_and_stays_there() -> None:
    said: list[tuple[int, int]] = []
    released: list[bool] = []
    device = Device([5] * 20, room=10)
    batches = MicroBatches(
        8, say=lambda *facts: said.append(facts), release=lambda: released.append(True)
    )

    answers, failed = batches.run(device.lengths, device)

    assert device.tried == [8, 4, *[2] * 10]
    assert answers == [f"row {row}" for row in range(20)]
    assert not failed
    assert said == [(8, 5)], "once, at the first time"
    assert released == [True, True], "before each new attempt"
    again = Device([5] * 4, room=10)
    batches.run(again.lengths, again)
    assert again.tried == [2, 2], "it never grows back"


def test_short_rows_still_go_together_in_numbers() -> None:
    device = Device([100] * 4 + [5] * 40, room=200)
    answers, _ = MicroBatches(40).run(device.lengths, device)

    assert None not in answers
    assert device.tried[-1] > 4, "a limit in rows alone would be 1 or 2 for ever"


def test_one_that_is_too_long_alone_is_rejected_alone() -> None:
    device = Device([3, 50, 4], room=10)

    answers, failed = MicroBatches(8).run(device.lengths, device)

    assert answers == ["row 0", None, "row 2"]
    assert list(failed) == [1]
    assert isinstance(failed[1], TooLongError)
    assert str(failed[1]) == (
        "the device has no room for this item alone (length 50); give the stage a larger device"
    )


def test_other_errors_are_not_taken_for_it() -> None:
    def broken(rows: Sequence[int]) -> list[str]:
        raise RuntimeError("index out of range")

    with pytest.raises(RuntimeError, match="index out of range"):
        MicroBatches(8).run([1, 2], broken)


def test_signs_of_a_full_device() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("full"))
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: 12 bytes"))
    assert not is_out_of_memory(RuntimeError("shapes differ"))
    assert not is_out_of_memory(ValueError("out of memory"))


@given(
    lengths=st.lists(st.integers(1, 30), max_size=40),
    most=st.integers(1, 9),
    room=st.integers(1, 90),
    by_length=st.booleans(),
)
def test_every_row_gets_its_own_answer_or_was_too_long(
    lengths: list[int], most: int, room: int, by_length: bool
) -> None:
    device = Device(lengths, room)

    answers, failed = MicroBatches(most, by_length).run(lengths, device)

    assert set(failed) == {row for row, length in enumerate(lengths) if length > room}
    expected = [None if row in failed else f"row {row}" for row in range(len(lengths))]
    assert answers == expected
    assert max(device.tried, default=0) <= most


def test_the_words_for_what_fits_nowhere_can_be_those_of_its_kind() -> None:
    device = Device([50], room=10)
    batches = MicroBatches(1, alone=lambda length: f"no room for {length} words")
    _, failed = batches.run([50], device)
    assert str(failed[0]) == "no room for 50 words"
