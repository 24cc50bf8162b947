"""Signals and warnings while Ray starts."""

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from curator_ray import compat
from curator_ray.cluster.connection import connected
from curator_ray.cluster.settings import (
    defer_signals,
    hide_death_messages,
    ignore_warnings,
    quiet_ray,
)


class TestSigterm:
    @pytest.fixture
    def received(self) -> Iterator[list[int]]:
        numbers: list[int] = []
        before = signal.signal(signal.SIGTERM, lambda number, _: numbers.append(number))
        yield numbers
        signal.signal(signal.SIGTERM, before)

    def test_ray_does_not_handle_it(self, received: list[int]) -> None:
        pytest.importorskip("ray")
        with quiet_ray():
            compat.SET_SIGTERM_HANDLER.get()(lambda number, _: None)  # as `ray.init` begins
            os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)

        assert received == [signal.SIGTERM, signal.SIGTERM]


class OfALibraryWarning(UserWarning):
    """A library adds a filter for it while it is imported, as `requests` does."""


class TestWarnings:
    @pytest.fixture
    def shown(self) -> Iterator[list[warnings.WarningMessage]]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield caught

    @pytest.mark.parametrize("context", [quiet_ray, ignore_warnings])
    def test_a_filter_added_by_another_thread_is_kept(
        self,
        context: Callable[[], AbstractContextManager[None]],
        shown: list[warnings.WarningMessage],
    ) -> None:
        with context():
            thread = threading.Thread(
                target=warnings.simplefilter, args=["ignore", OfALibraryWarning]
            )
            thread.start()
            thread.join()
        warnings.warn("no SOCKS", OfALibraryWarning, stacklevel=1)

        assert not shown

    def test_warnings_are_ignored_for_a_while(self, shown: list[warnings.WarningMessage]) -> None:
        before = list(warnings.filters)
        with ignore_warnings(), ignore_warnings():
            warnings.warn("during", UserWarning, stacklevel=1)
        assert list(warnings.filters) == before
        warnings.warn("afterwards", UserWarning, stacklevel=1)

        assert [str(one.message) for one in shown] == ["afterwards"]

    def test_only_those_of_one_module(self, shown: list[warnings.WarningMessage]) -> None:
        with ignore_warnings(r"ray\.data"):
            warnings.warn_explicit("theirs", UserWarning, "set.py", 1, module="ray.data.dataset")
            warnings.warn_explicit("mine", UserWarning, "my.py", 1, module="my")

        assert [str(one.message) for one in shown] == ["mine"]

    def test_a_thread_that_restores_filters_does_not_restore_ours(
        self, shown: list[warnings.WarningMessage]
    ) -> None:
        theirs = warnings.catch_warnings()
        with ignore_warnings():
            theirs.__enter__()
        theirs.__exit__(None, None, None)
        warnings.warn("afterwards", UserWarning, stacklevel=1)

        assert [str(one.message) for one in shown] == ["afterwards"]


def test_ray_does_not_print_deaths(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray")
    message = {"lines": ["a worker died"]}
    with hide_death_messages():
        compat.DEATH_MESSAGES.get()(message, ignore_prefix=True)
    assert capsys.readouterr() == ("", "")


class TestDeferSignals:
    @pytest.fixture(autouse=True)
    def _default_handler(self) -> Iterator[None]:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    def interrupt(self, times: int, steps: list[str]) -> None:
        with defer_signals():
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
            steps.append("completed")

    def test_the_first_one_is_handled_at_the_end(self) -> None:
        steps: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            self.interrupt(1, steps)

        assert steps == ["completed"]

    def test_the_second_one_is_handled_at_once(self) -> None:
        steps: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            self.interrupt(2, steps)

        assert not steps
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def test_a_cluster_that_started_meanwhile_is_ended(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps: list[str] = []

        class Cluster:
            folder = "nowhere"

            def __init__(self, *_: object) -> None:
                os.kill(os.getpid(), signal.SIGINT)
                steps.append("started")

            def end(self) -> None:
                steps.append("ended")

        monkeypatch.setattr("curator_ray.cluster.connection.RunningCluster", Cluster)
        monkeypatch.setattr("curator_ray.cluster.connection._current_address", lambda: "here:1")
        monkeypatch.setattr("ray.is_initialized", lambda: False)
        with pytest.raises(KeyboardInterrupt), connected("local"):
            steps.append("used")

        assert steps == ["started", "ended"]
