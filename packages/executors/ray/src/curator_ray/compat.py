"""Private names of Ray that we use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def patched(owner: Any, name: str, made_of: Callable[[Any], Any]) -> Iterator[None]:
    """Something of Ray's, changed for as long as it lasts; a Ray that has it not stays as it is."""
    before = getattr(owner, name, None)
    if before is None:
        yield
        return
    setattr(owner, name, made_of(before))
    try:
        yield
    finally:
        setattr(owner, name, before)
