"""What workers return arrives, also if a worker dies in the middle."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from curator_ray.inbox import Inbox, Received
from curator_ray.worker.messages import CallResult
from waitkit import eventually


class Worker:
    """Yields results and outputs in turn, and ends its process after a number of objects."""

    def stream(self, objects: int) -> Iterator[Any]:
        for count in range(objects):
            yield f"outputs {count}" if count % 2 else CallResult()
        os._exit(1)


@pytest.mark.parametrize("objects", [0, 1, 2, 3])
def test_a_stream_ends_with_the_error_if_its_worker_dies(cluster: Any, objects: int) -> None:
    import ray

    worker = ray.remote(Worker).options(num_cpus=0).remote()
    inbox: Inbox[str] = Inbox()
    inbox.expect_stream(worker.stream.remote(objects), "call")
    received: list[Received[str]] = []

    eventually(lambda: received.extend(inbox.take(0.1)) or inbox.is_empty)

    *parts, last = received
    assert isinstance(last.error, ray.exceptions.RayActorError)
    assert len(parts) <= objects // 2  # Ray may lose what was yielded just before the death
    outputs = [ray.get(part.outputs) for part in parts]
    assert outputs == [f"outputs {2 * position + 1}" for position in range(len(parts))]
