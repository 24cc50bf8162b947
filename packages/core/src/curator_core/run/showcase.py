"""Showcase: emit each output once, and the first samples of each kind."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from curator_core.model.samples import MOST_CHANGES, MOST_DROPS, MOST_REASONS, Sample
from curator_core.model.tasks import AnyTask
from curator_core.plan.events import Events
from curator_core.plan.plan import Plan


class Shown:
    """The outputs of open sources that were emitted.

    A source that is run again repeats outputs: same id, same data.
    """

    def __init__(self) -> None:
        self._ids: dict[str, set[str] | tuple[str, ...]] = {}

    def is_first(self, output: AnyTask) -> bool:
        """Mark an output as emitted; return whether it was not before."""
        shown, task_id = self._ids, output.task_id
        sources = [key[0] for key in output.lineage]
        if any(task_id in shown.get(source, ()) for source in sources):
            return False
        for source in sources:
            before = shown.get(source)
            if isinstance(before, set):
                before.add(task_id)
            else:  # most sources have one output: a tuple is smaller
                shown[source] = {*before, task_id} if before else (task_id,)
        return True

    def forget(self, source_id: str) -> None:
        self._ids.pop(source_id, None)


class Showcase:
    """Emits the first few samples of each kind as events of the run."""

    def __init__(self, plan: Plan, events: Events) -> None:
        self._names = {planned.index: planned.name for planned in plan.stages}
        self._events = events
        self._taken: dict[int, Counter[str]] = {}

    def take(self, samples: Iterable[Sample]) -> None:
        for sample in samples:
            taken = self._taken.setdefault(sample.stage_index, Counter())
            most = MOST_CHANGES if sample.after is not None else MOST_DROPS
            is_new = sample.reason not in taken
            if taken[sample.reason] >= most or (is_new and len(taken) > MOST_REASONS):
                continue
            taken[sample.reason] += 1
            self._events.tell("sample", stage=self._names[sample.stage_index], **_told(sample))


def _told(sample: Sample) -> dict[str, Any]:
    """Return the non-empty fields of a sample; `before` and `after` may be empty texts."""
    texts = {"before": sample.before} | ({} if sample.after is None else {"after": sample.after})
    others = ("column", "reason", "label", "start", "length")
    return texts | {name: told for name in others if (told := getattr(sample, name))}
