"""One Ray at a time: a process can have only one, and each folder of tests wants another."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "report" / "metrics")]
"""Where `clusterkit` and `prometheuskit` are."""

Start = Callable[[], AbstractContextManager[Any]]


class OneRay:
    """The Ray that is up. It stays for all tests of its folder: to start one takes longest."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._start: Start | None = None
        self._folder = Path()
        self._made: Any = None

    def use(self, start: Start, folder: Path) -> Any:
        if start is not self._start:
            self.close()
            self._made = self._stack.enter_context(start())
            self._start, self._folder = start, folder
        return self._made

    def leave(self, following: pytest.Item | None) -> None:
        """End it before tests of another folder, which may start one of their own."""
        if following is None or self._folder not in following.path.parents:
            self.close()

    def close(self) -> None:
        self._start = self._made = None
        self._stack.close()


_ONE = OneRay()


@pytest.fixture(scope="session")
def one_ray() -> OneRay:
    return _ONE


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    _ONE.leave(nextitem)
