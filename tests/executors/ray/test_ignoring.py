"""Warnings of Ray are kept from the user, and nobody else's filters are touched."""

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from curator_ray.ignoring import ignoring_warnings
from curator_ray.settings import undisturbed


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


@pytest.mark.parametrize("meanwhile", [undisturbed, ignoring_warnings])
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
    with ignoring_warnings(), ignoring_warnings():
        warnings.warn("meanwhile", UserWarning, stacklevel=1)
    assert list(warnings.filters) == before
    warnings.warn("afterwards", UserWarning, stacklevel=1)

    assert [str(one.message) for one in seen] == ["afterwards"]


def test_only_those_of_a_module_if_it_is_named(seen: list[warnings.WarningMessage]) -> None:
    with ignoring_warnings(r"ray\.data"):
        warnings.warn_explicit("theirs", UserWarning, "set.py", 1, module="ray.data.dataset")
        warnings.warn_explicit("mine", UserWarning, "my.py", 1, module="my")

    assert [str(one.message) for one in seen] == ["mine"]


def test_it_does_not_come_back_with_filters_that_a_thread_had_put_aside(
    seen: list[warnings.WarningMessage],
) -> None:
    theirs = warnings.catch_warnings()
    with ignoring_warnings():
        theirs.__enter__()
    theirs.__exit__(None, None, None)
    warnings.warn("afterwards", UserWarning, stacklevel=1)

    assert [str(one.message) for one in seen] == ["afterwards"]
