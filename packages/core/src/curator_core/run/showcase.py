"""Outputs and samples to show: each output once, the first samples of each kind."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from curator_core.model.samples import MOST_CHANGES, MOST_DROPS, MOST_REASONS, Sample
from curator_core.model.tasks import AnyTask
from curator_core.plan.events import Events
from curator_core.plan.plan import Plan


class Shown:
    """The outputs of open sources that were shown.

    A source that is run again gives outputs that were shown before: same id, same data.
    """

    def __init__(self) -> None:
        self._ids: dict[str, set[str] | tuple[str, ...]] = {}

    def is_first(self, output: AnyTask) -> bool:
        """Whether an output was not shown before; from now on it was."""
        shown, task_id = self._ids, output.task_id
        sources = [key[0] for key in output.lineage]
        if any(task_id in shown.get(source, ()) for source in sources):
            return False
        for source in sources:
            before = shown.get(source)
            if isinstance(before, set):
                before.add(task_id)
            else:  # most sources give one output, for which a set would be much
                shown[source] = {*before, task_id} if before else (task_id,)
        return True

    def forget(self, source_id: str) -> None:
        self._ids.pop(source_id, None)


class Showcase:
    """Tells of the first few samples of each kind as events of the run."""

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
    """What there is to tell; an empty text before or after is something."""
    texts = {"before": sample.before} | ({} if sample.after is None else {"after": sample.after})
    others = ("column", "reason", "label", "start", "length")
    return texts | {name: told for name in others if (told := getattr(sample, name))}
