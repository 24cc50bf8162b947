"""Sending tasks of this process to the object store, with errors that name what did not go."""

from typing import Any

from curator_core import AnyTask
from curator_core.errors import PipelineError, StageError, reason_of

from curator_ray.parcels import Parcel


def send(tasks: list[AnyTask]) -> tuple[Any, int]:
    """The reference to a parcel of these tasks, and what it takes in bytes."""
    import ray

    try:
        parcel = Parcel.of(tasks)
    except Exception as error:
        raise PipelineError(
            f"task {tasks[0].task_id} ({type(tasks[0]).__name__}) or one beside it cannot be "
            f"sent to a worker process, because it cannot be pickled ({reason_of(error)}); give "
            "tasks of plain data, or run with LocalExecutor(workers=0)"
        ) from error
    size = parcel.nbytes
    try:
        return ray.put(parcel), size
    except ray.exceptions.RayError as error:
        raise StageError(
            f"task {tasks[0].task_id} does not fit into the object store: it takes "
            f"{size / 1e6:.0f} MB; make tasks smaller, or the store larger (object_store_gb)",
            task_id=tasks[0].task_id,
        ) from error
