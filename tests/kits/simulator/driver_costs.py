"""What the driving thread pays for calls, tasks, references and bytes."""

from collections.abc import Iterable
from dataclasses import dataclass

from curator_streaming.scheduler import actions, events


@dataclass(frozen=True)
class DriverCosts:
    """CPU seconds of the driving thread, measured with Ray 2.60 on one core of a cloud machine."""

    submit_s: float = 0.12e-3
    """Per call: submit it to the worker's actor."""

    answer_s: float = 0.88e-3
    """Per answer: notice, fetch and unpickle it, update run and scheduler, release references."""

    source_s: float = 12e-6
    """Per source: list it, give it its credit, pickle it."""

    task_s: float = 5e-6
    """Per task of a call: its id and lineage in the answer, its credit and counts."""

    reference_s: float = 1.1e-6
    """Per pending call and turn of the driver: two `ray.wait`."""

    byte_s: float = 1e-9
    """Per byte of sources and final outputs; other data never reaches the driver."""

    def receive(self, new: Iterable[events.Event], pending_calls: int) -> float:
        """Return the cost of taking in these events."""
        seconds = self.reference_s * pending_calls
        for event in new:
            if isinstance(event, events.CallDone | events.CallYielded | events.CallFailed):
                seconds += self.answer_s
            elif isinstance(event, events.SourcesOffered):
                tasks = sum(block.tasks for block in event.blocks)
                size = sum(block.size for block in event.blocks)
                seconds += self.source_s * tasks + self.byte_s * size
        return seconds

    def send(self, action: actions.Dispatch) -> float:
        """Return the cost of a call, including what its answer will cost per task."""
        return self.submit_s + self.task_s * sum(len(part) for part in action.inputs)


FREE = DriverCosts(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""A driver that does everything in no time, to test the scheduler alone."""
