"""Nothing is raised in the midst of Ray's start, and nothing that was asked for is forgotten."""

import os
import signal
from collections.abc import Iterator

import pytest
from curator_ray.connecting import connected
from curator_ray.interrupting import interrupted_afterwards


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def pressed(times: int, steps: list[str]) -> None:
    with interrupted_afterwards():
        for _ in range(times):
            press()
        steps.append("went on")


def test_the_first_is_heeded_when_it_is_over() -> None:
    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        pressed(1, steps)

    assert steps == ["went on"]


def test_another_one_is_heeded_at_once() -> None:
    steps: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        pressed(2, steps)

    assert not steps
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_came_up_meanwhile_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    did: list[str] = []

    class Started:
        folder = "nowhere"

        def __init__(self, *_: object) -> None:
            press()
            did.append("came up")

        def end(self) -> None:
            did.append("ended")

    monkeypatch.setattr("curator_ray.connecting.Started", Started)
    monkeypatch.setattr("curator_ray.connecting._present_address", lambda: "here:1")
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(KeyboardInterrupt), connected("local"):
        did.append("began")

    assert did == ["came up", "ended"]
