"""Warming up: what Ray will import later on is imported while its processes start.

That takes a good part of a second, and the main thread has nothing to do but wait meanwhile.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module

_WANTED = ("curator_ray.hosts", "ray.dag.compiled_dag_node")
"""Ray looks into the last when it is shut down."""


@contextmanager
def warming_up(also: Iterable[str] = ()) -> Iterator[None]:
    """Import on another thread, and what else is named too; waits for it at the end."""
    wanted = (*_WANTED, *also)
    thread = threading.Thread(
        target=_import_all, args=[wanted], name="curator-warming-up", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _import_all(wanted: Iterable[str]) -> None:
    for name in wanted:
        # Whoever needs it imports it once more, and gets the error where it can be understood.
        with suppress(Exception):
            import_module(name)
