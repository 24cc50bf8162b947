"""Batches that do not fit are halved; answers stay with their rows."""

from collections.abc import Iterator, Sequence

import pytest
import torch
from curator_models import batching
from curator_models.batching import MicroBatches, TooLongError
from hypothesis import given
from hypothesis import strategies as st


class Device:
    """Holds `room` cells (rows times the longest); with more it raises torch's own error."""

    def __init__(self, lengths: Sequence[int], room: int) -> None:
        self.lengths = lengths
        self.room = room
        self.batch_sizes: list[int] = []

    def __call__(self, rows: Sequence[int]) -> list[str]:
        self.batch_sizes.append(len(rows))
        if len(rows) * max(self.lengths[row] for row in rows) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB")
        return [f"row {row}" for row in rows]


class TestOutOfMemory:
    def test_batches_are_halved_until_they_fit_and_never_grow_again(self) -> None:
        device = Device([5] * 20, room=10)
        batches = MicroBatches(8)

        answers, errors = batches.run(device.lengths, device)

        assert device.batch_sizes == [8, 4, *[2] * 10]
        assert answers == [f"row {row}" for row in range(20)]
        assert not errors
        again = Device([5] * 4, room=10)
        batches.run(again.lengths, again)
        assert again.batch_sizes == [2, 2]

    def test_the_callback_is_called_once(self) -> None:
        calls: list[tuple[int, int]] = []
        device = Device([5] * 20, room=10)
        batches = MicroBatches(8, on_out_of_memory=lambda *numbers: calls.append(numbers))
        batches.run(device.lengths, device)
        assert calls == [(8, 5)]

    def test_cached_memory_is_released_before_each_new_attempt(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        released: list[bool] = []
        monkeypatch.setattr(batching, "empty_device_cache", lambda: released.append(True))
        device = Device([5] * 20, room=10)
        MicroBatches(8).run(device.lengths, device)
        assert released == [True, True]

    def test_short_rows_still_run_in_large_batches(self) -> None:
        device = Device([100] * 4 + [5] * 40, room=200)
        answers, _ = MicroBatches(40).run(device.lengths, device)

        assert None not in answers
        assert device.batch_sizes[-1] > 4, "a limit in rows alone would be 1 or 2 forever"

    def test_other_errors_are_raised(self) -> None:
        def broken(rows: Sequence[int]) -> list[str]:
            raise RuntimeError("index out of range")

        with pytest.raises(RuntimeError, match="index out of range"):
            MicroBatches(8).run([1, 2], broken)


class TestTooLongRows:
    def test_a_row_that_does_not_fit_alone_fails_alone(self) -> None:
        device = Device([3, 50, 4], room=10)

        answers, errors = MicroBatches(8).run(device.lengths, device)

        assert answers == ["row 0", None, "row 2"]
        assert list(errors) == [1]
        assert isinstance(errors[1], TooLongError)
        assert "length 50" in str(errors[1])
        assert "give the stage a larger device" in str(errors[1])

    def test_the_message_can_be_replaced(self) -> None:
        device = Device([50], room=10)
        batches = MicroBatches(1, too_long_message=lambda length: f"{length} words are too many")
        _, errors = batches.run([50], device)
        assert str(errors[0]) == "50 words are too many"


@pytest.fixture(scope="module")
def without_garbage_collection() -> Iterator[None]:
    """Do not release memory after each failure: collecting garbage takes a fifth of a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batching, "empty_device_cache", lambda: None)
        yield


@pytest.mark.usefixtures("without_garbage_collection")
@given(
    lengths=st.lists(st.integers(1, 30), max_size=40),
    max_rows=st.integers(1, 9),
    room=st.integers(1, 90),
    sort_by_length=st.booleans(),
)
def test_every_row_gets_its_own_answer_or_was_too_long(
    lengths: list[int], max_rows: int, room: int, sort_by_length: bool
) -> None:
    device = Device(lengths, room)

    answers, errors = MicroBatches(max_rows, sort_by_length).run(lengths, device)

    assert set(errors) == {row for row, length in enumerate(lengths) if length > room}
    expected = [None if row in errors else f"row {row}" for row in range(len(lengths))]
    assert answers == expected
    assert max(device.batch_sizes, default=0) <= max_rows
