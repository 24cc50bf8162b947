"""Crowding out: Ray Data of the reader's own waits for CPUs that the job holds, maybe for ever."""

import logging
from collections.abc import Callable

from curator_ray_data.insides import Execution

LOG = logging.getLogger("curator_core")

_LOOK_EVERY_S = 5.0
_USUAL = 1.0
"""So many CPUs a task of Ray Data asks for where nobody says otherwise."""


class Crowding:
    """Says so once, while nobody takes what the job has made."""

    def __init__(self, execution: Execution, cluster_cpus: Callable[[], float]) -> None:
        self._execution = execution
        self._cluster_cpus = cluster_cpus
        self._next = _LOOK_EVERY_S

    def look(self, waited: float) -> None:
        """For so many seconds a block of the job has not been taken."""
        if waited < self._next or not self._execution.has_company:
            return
        self._next = waited + _LOOK_EVERY_S
        cpus = self._cluster_cpus()
        if cpus - self._execution.cpus_held >= _USUAL:
            return
        self._next = float("inf")
        LOG.warning(
            "ray_data: Ray Data is at work elsewhere in this process, and may wait for one of the "
            "%g CPUs, which this job holds while its outputs are not taken: leave some free with "
            "resource_limits={'cpu': ...}, or take all outputs first",
            cpus,
        )


def cluster_cpus() -> float:
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 0.0)
