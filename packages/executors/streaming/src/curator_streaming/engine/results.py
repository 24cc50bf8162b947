"""Results: final outputs and the reports of calls, passed on to the run in the right order."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from curator_core import AnyTask, PlannedStage
from curator_core.model.lineage import Lineage
from curator_core.model.reports import CallReport, Keys
from curator_ray.inbox import get_all
from curator_ray.recovery import SourceReruns
from curator_ray.remote.messages import SourceKeys

if TYPE_CHECKING:
    from curator_core.plan.executor import RemoteRun


class OutputSink(Protocol):
    """Where final outputs go. Their sources are done only when the outputs have been consumed."""

    @property
    def added(self) -> int:
        """Number of outputs added so far."""
        ...

    @property
    def consumed(self) -> int:
        """Number of outputs that the consumer is done with."""
        ...

    @property
    def has_room(self) -> bool: ...

    def add(self, outputs: Sequence[AnyTask], size: int) -> None: ...

    def end(self, error: BaseException | None = None) -> None:
        """Close the sink; the consumer gets `error` raised."""
        ...


class OutputQueue:
    """Outputs between the driving thread, which never waits here, and the consumer's thread."""

    def __init__(self, wakeup: threading.Event, max_bytes: int = 32 << 20) -> None:
        self.added = 0
        self.consumed = 0
        self._wakeup = wakeup
        self._max_bytes = max_bytes
        self._batches: deque[tuple[Sequence[AnyTask], int]] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._has_ended = False
        self._error: BaseException | None = None

    # For the driving thread

    @property
    def has_room(self) -> bool:
        return self._bytes < self._max_bytes

    def add(self, outputs: Sequence[AnyTask], size: int) -> None:
        if not outputs:
            return
        with self._changed:
            self.added += len(outputs)
            self._bytes += size
            self._batches.append((outputs, size))
            self._changed.notify()

    def end(self, error: BaseException | None = None) -> None:
        """Close the queue; `error` is raised for the consumer."""
        with self._changed:
            self._has_ended, self._error = True, error
            self._changed.notify()

    # For the consumer

    def __iter__(self) -> Iterator[AnyTask]:
        while (batch := self._next_batch()) is not None:
            outputs, size = batch
            for output in outputs:
                yield output
                self.consumed += 1
            with self._changed:
                self._bytes -= size
            self._wakeup.set()

    def _next_batch(self) -> tuple[Sequence[AnyTask], int] | None:
        with self._changed:
            while not self._batches and not self._has_ended:
                self._changed.wait()
            if self._batches:
                return self._batches.popleft()
            if self._error is not None:
                raise self._error
            return None


_BLOCKS_PER_FETCH = 64
_BYTES_PER_FETCH = 4 << 20


@dataclass(frozen=True, slots=True)
class FinalBlock:
    """Outputs of the last stage in the object store, if any, and the report of their call."""

    ref: Any
    size: int
    keys: Keys
    report: CallReport | None


class Results:
    """Gives the run the outputs of a call before its report, and both only when complete.

    Outputs are fetched while there is room for them. A call is reported once its outputs have been
    consumed, so that nothing counts as done that has not arrived.
    """

    def __init__(self, run: "RemoteRun", sink: OutputSink) -> None:
        self._run = run
        self._sink = sink
        self._to_fetch: deque[FinalBlock] = deque()
        self._to_report: deque[tuple[int, FinalBlock, list[Lineage]]] = deque()
        self.reruns = SourceReruns(run)
        self.consumed_bytes = 0
        """Bytes of final outputs that no longer need to be in the store."""

    def report(self, report: CallReport, keys: Keys) -> None:
        self._sink.add(self._run.apply_report(report, [cast(AnyTask, SourceKeys(keys))]), 0)
        self.reruns.rerun_mixed()

    def add_final(self, block: FinalBlock) -> None:
        self._to_fetch.append(block)

    @property
    def is_empty(self) -> bool:
        """Whether everything was fetched, consumed and reported."""
        return not (self._to_fetch or self._to_report)

    def settle(self) -> None:
        """Pass outputs on while the sink has room, and report consumed ones."""
        self._report_consumed()
        while self._to_fetch and (self._to_fetch[0].ref is None or self._sink.has_room):
            blocks = self._next_blocks()
            for block, outputs in zip(blocks, self._fetch(blocks), strict=True):
                self._hand_over(block, outputs)

    def _next_blocks(self) -> list[FinalBlock]:
        """Take the next blocks to fetch: a few at once, because each fetch has a fixed cost."""
        blocks, size = [self._to_fetch.popleft()], 0
        while self._to_fetch and len(blocks) < _BLOCKS_PER_FETCH:
            size += self._to_fetch[0].size
            if size > _BYTES_PER_FETCH:
                break
            blocks.append(self._to_fetch.popleft())
        return blocks

    def _hand_over(self, block: FinalBlock, outputs: list[AnyTask] | Exception) -> None:
        if isinstance(outputs, Exception):
            self.reruns.rerun(block.keys, f"its outputs were lost ({type(outputs).__name__})")
            self.consumed_bytes += block.size
            return
        before = self._sink.added
        self._sink.add([one for task in outputs for one in self._run.emit(task)], block.size)
        added = self._sink.added
        lineages = [task.lineage for task in outputs]
        self._to_report.append((added if added > before else 0, block, lineages))
        self._report_consumed()

    def _report_consumed(self) -> None:
        while self._to_report and self._to_report[0][0] <= self._sink.consumed:
            _, block, lineages = self._to_report.popleft()
            self.consumed_bytes += block.size
            self._run.credit(lineages)  # not earlier: sources would be done before this report
            if block.report is not None:
                self.report(block.report, block.keys)

    def fail_sources(self, keys: Keys, reason: str, stage: PlannedStage) -> None:
        """Fail these sources; others that share outputs with them are run again."""
        self._sink.add(self.reruns.fail_sources(keys, reason, stage), 0)

    def _fetch(self, blocks: list[FinalBlock]) -> list[list[AnyTask] | Exception]:
        """Return the outputs of each block, or the error of Ray if they are lost."""
        packs = get_all([block.ref for block in blocks if block.ref is not None])
        found = iter(packs)
        return [[] if block.ref is None else _unpack(next(found)) for block in blocks]


def _unpack(pack: Any) -> list[AnyTask] | Exception:
    return pack if isinstance(pack, Exception) else pack.unpack()
