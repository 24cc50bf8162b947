"""The one private interface of Ray that this package uses, tested with Ray 2.56 to 2.60.

`Dataset._create_executor`: nothing public ends a running job. Where the name is missing, a job that
is broken off ends when all of its blocks have been skipped.
"""

from functools import partial
from typing import Any


class RunningJob:
    """Ends the execution of a dataset, once it runs."""

    def __init__(self, dataset: Any) -> None:
        self._executors: list[Any] = []
        create = getattr(dataset, "_create_executor", None)
        if create is not None:
            dataset._create_executor = partial(self._create, dataset, create)  # noqa: SLF001

    def end(self) -> None:
        """End the job without waiting for its tasks."""
        for executor in self._executors:
            executor.shutdown(force=False)

    def forget(self) -> None:
        """Release Ray Data's executor, which holds its actors."""
        self._executors.clear()

    def _create(self, dataset: Any, create: Any) -> Any:
        del dataset._create_executor  # noqa: SLF001 - otherwise the dataset would hold itself
        executor = create()
        self._executors.append(executor)
        return executor
