"""Lookouts: the sources that are left to do, listed a little further than they are taken."""

import time
from collections import deque
from collections.abc import Generator, Iterator

from curator_core.runs.listing import Source

LOOK_AHEAD_S = 0.02
MOST_AHEAD = 20_000
"""Sources that are listed and wait in memory: enough to tell how long a run will take."""


class Lookout(Iterator[Source]):
    """Gives the sources in their order. `close` it where not all of them were taken."""

    def __init__(self, left: Generator[Source, None, None]) -> None:
        self._left = left
        self._ahead: deque[Source] = deque()
        self._has_seen_all = False

    def __next__(self) -> Source:
        if self._ahead:
            return self._ahead.popleft()
        try:
            return next(self._left)
        except StopIteration:
            self._has_seen_all = True
            raise

    @property
    def known(self) -> int | None:
        """How many are still to be taken; None until all are listed."""
        return len(self._ahead) if self._has_seen_all else None

    @property
    def is_empty(self) -> bool:
        """Whether none is left to be taken; lists the next one to find out."""
        if not self._ahead and not self._has_seen_all:
            source = next(self._left, None)
            self._has_seen_all = source is None
            self._ahead.extend([source] if source is not None else [])
        return not self._ahead

    def look_ahead(self) -> None:
        """List a little further than is needed now, so that it is known how much there is.

        Only names of files are held that way: a source that carries its own data stays where it is.
        """
        until = time.monotonic() + LOOK_AHEAD_S
        while not self._has_seen_all and len(self._ahead) < MOST_AHEAD:
            source = next(self._left, None)
            self._has_seen_all = source is None
            if source is None:
                return
            self._ahead.append(source)
            if not source.origins or time.monotonic() > until:
                return

    def close(self) -> None:
        self._left.close()
