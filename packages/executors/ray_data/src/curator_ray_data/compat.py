"""Every private name of Ray Data that we use, with a fallback; see `curator_ray.compat`."""

from functools import partial
from typing import Any

from curator_ray.compat import PrivateName

CREATE_EXECUTOR = PrivateName(
    "ray.data:Dataset._create_executor",
    "gives the executor of a dataset, because nothing public ends a running job",
    "a run that is broken off ends when its workers have skipped all remaining blocks",
)


class RunningJob:
    """Ends the execution of a dataset, once it runs."""

    def __init__(self, dataset: Any) -> None:
        self._executors: list[Any] = []
        create = CREATE_EXECUTOR.get()
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
        executor = create(dataset)
        self._executors.append(executor)
        return executor
