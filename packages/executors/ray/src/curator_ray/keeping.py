"""Keeping: whoever starts processes of Ray has to stay, for they end with the thread that did.

So the kernel was told (Linux). A run may be on a thread that ends while others use the cluster.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future


class Keeper:
    """Calls `start` on a thread that stays until it is dismissed."""

    def __init__(self, start: Callable[[], None]) -> None:
        self._start = start
        self._is_over = threading.Event()
        self._started: Future[None] = Future()
        if threading.current_thread() is threading.main_thread():  # which stays anyway
            start()
            return
        threading.Thread(target=self._keep, name="curator-keeper", daemon=True).start()
        self._started.result()

    def dismiss(self) -> None:
        self._is_over.set()

    def _keep(self) -> None:
        try:
            self._start()
        except BaseException as error:  # noqa: BLE001 - it goes to the thread that waits for it
            self._started.set_exception(error)
            return
        self._started.set_result(None)
        self._is_over.wait()
