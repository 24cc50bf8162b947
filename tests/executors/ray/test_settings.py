"""While Ray starts, SIGTERM goes to whoever heeded it before."""

import os
import signal
from collections.abc import Iterator

import pytest
from curator_ray.settings import undisturbed


@pytest.fixture
def heard() -> Iterator[list[int]]:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    yield came
    signal.signal(signal.SIGTERM, before)


def test_ray_does_not_take_over_what_ends_a_run_in_order(heard: list[int]) -> None:
    from ray._private import utils

    with undisturbed():
        utils.set_sigterm_handler(lambda number, _: None)  # as `ray.init` begins
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)

    assert heard == [signal.SIGTERM, signal.SIGTERM]
