"""Signals and warnings while Ray starts."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from curator_ray.cluster.connection import connected
from curator_ray.cluster.settings import defer_signals, ignore_warnings, quiet_ray


@pytest.fixture
def heard() -> Iterator[list[int]]:
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    yield came
    signal.signal(signal.SIGTERM, before)


def test_ray_does_not_take_over_what_ends_a_run_in_order(heard: list[int]) -> None:
    from ray._private import utils

    with quiet_ray():
        utils.set_sigterm_handler(lambda number, _: None)  # as `ray.init` begins
        os.kill(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)

    assert heard == [signal.SIGTERM, signal.SIGTERM]


class OfSomebodyElseWarning(UserWarning):
    """A library adds a filter for it while it is imported, as `requests` does."""


@pytest.fixture
def seen() -> Iterator[list[warnings.WarningMessage]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def on_a_thread(what: Callable[[], None]) -> None:
    thread = threading.Thread(target=what)
    thread.start()
    thread.join()


@pytest.mark.parametrize("meanwhile", [quiet_ray, ignore_warnings])
def test_a_filter_that_a_thread_adds_meanwhile_stays(
    meanwhile: Callable[[], AbstractContextManager[None]], seen: list[warnings.WarningMessage]
) -> None:
    with meanwhile():
        on_a_thread(lambda: warnings.simplefilter("ignore", OfSomebodyElseWarning))
    warnings.warn("no SOCKS", OfSomebodyElseWarning, stacklevel=1)

    assert not seen


def test_nothing_is_seen_meanwhile_and_all_of_it_afterwards(
    seen: list[warnings.WarningMessage],
) -> None:
    before = list(warnings.filters)
    with ignore_warnings(), ignore_warnings():
        warnings.warn("meanwhile", UserWarning, stacklevel=1)
    assert list(warnings.filters) == before
    warnings.warn("afterwards", UserWarning, stacklevel=1)

    assert [str(one.message) for one in seen] == ["afterwards"]


def test_only_those_of_a_module_if_it_is_named(seen: list[warnings.WarningMessage]) -> None:
    with ignore_warnings(r"ray\.data"):
        warnings.warn_explicit("theirs", UserWarning, "set.py", 1, module="ray.data.dataset")
        warnings.warn_explicit("mine", UserWarning, "my.py", 1, module="my")

    assert [str(one.message) for one in seen] == ["mine"]


def test_it_does_not_come_back_with_filters_that_a_thread_had_put_aside(
    seen: list[warnings.WarningMessage],
) -> None:
    theirs = warnings.catch_warnings()
    with ignore_warnings():
        theirs.__enter__()
    theirs.__exit__(None, None, None)
    warnings.warn("afterwards", UserWarning, stacklevel=1)

    assert [str(one.message) for one in seen] == ["afterwards"]


@pytest.fixture(autouse=True)
def _default() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def pressed(times: int, steps: list[str]) -> None:
    with defer_signals():
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

    monkeypatch.setattr("curator_ray.cluster.connection.RunningCluster", Started)
    monkeypatch.setattr("curator_ray.cluster.connection._present_address", lambda: "here:1")
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    with pytest.raises(KeyboardInterrupt), connected("local"):
        did.append("began")

    assert did == ["came up", "ended"]
