"""Samples: records from files all over the input, each in a task of its own."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from heapq import nsmallest
from itertools import chain, islice
from math import ceil

from curator_core.io.compression import compression_of
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.ids import fingerprint
from curator_core.model.lineage import whole_credit
from curator_core.model.records import QuarantineRecord
from curator_core.model.reports import CallReport
from curator_core.model.tasks import AnyTask, Empty
from curator_core.plan.plan import PlannedStage
from curator_core.preview.worker import open_worker

MOST_LISTED = 100_000
"""Number of sources to sample from: listing more would take longer than reading the sample."""

MOST_BYTES = 1024 * 1024
"""How much to read of a file that can be divided at any line."""


@dataclass
class Sample:
    """Sample records. Each is a task with the record's number as its lineage."""

    tasks: list[AnyTask] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    """The files that the records are from, without repetition."""

    source_of: list[str] = field(default_factory=list)
    """The file of each record."""

    report: CallReport = field(default_factory=CallReport)

    @property
    def items(self) -> int:
        return sum(task.num_items for task in self.tasks)

    @property
    def failures(self) -> list[QuarantineRecord]:
        """Files and records that could not be read."""
        return self.report.quarantined


def draw_sample(
    stages: Sequence[PlannedStage], records: int, most_sources: int | None = None
) -> Sample:
    """Read records from sources chosen by hash, so that every sample is the same.

    The first stage lists the sources; the others read them. Reads no more than needed.
    """
    sample = Sample()
    lister, readers = stages[0], stages[1:]
    seed = Empty()
    seed.lineage = whole_credit("", 0)
    failing = replace(lister, policy=replace(lister.policy, on_error="fail"))
    with open_worker([failing]) as (worker, _):
        listing = worker.call([seed])
        with closing(listing.outputs()) as sources:
            if readers:
                chosen = _choose_sources(sources, min(records, most_sources or records))
                _read(sample, _narrowed(chosen, lister), readers, records)
            else:
                _add(sample, sources, records, "")
    sample.report.add(listing.report)
    return sample


def _choose_sources(sources: Iterable[AnyTask], most: int) -> list[AnyTask]:
    """Choose sources by hash, and sort them by size.

    A small source with too few records leaves its share to the later ones.
    """
    listed = islice(chain.from_iterable(map(_single_files, sources)), MOST_LISTED)
    chosen = nsmallest(most, listed, key=lambda task: fingerprint(task.identity() or task.task_id))
    return sorted(chosen, key=lambda task: task.num_bytes)


def _single_files(source: AnyTask) -> Iterator[AnyTask]:
    """Divide a group of files: a sample needs one of them."""
    if isinstance(source, FileGroup) and source.num_items > 1:
        yield from (source.take([row]) for row in range(source.num_items))
    else:
        yield source


def _narrowed(sources: Iterable[AnyTask], lister: PlannedStage) -> list[AnyTask]:
    """Cut large parts of files short, where the format allows it."""
    if getattr(lister.stage, "split", "whole") != "lines":
        return list(sources)
    return [
        source.with_data([_first_bytes(part) for part in source.data])
        if isinstance(source, FileGroup)
        else source
        for source in sources
    ]


def _first_bytes(part: FilePart) -> FilePart:
    if part.size <= MOST_BYTES or compression_of(part.path):
        return part
    return replace(part, size=MOST_BYTES, end=part.start + MOST_BYTES)


def _read(
    sample: Sample, sources: Sequence[AnyTask], readers: Sequence[PlannedStage], records: int
) -> None:
    found: dict[str, None] = {}
    with open_worker(readers) as (worker, _):
        for position, source in enumerate(sources):
            missing, left = records - sample.items, len(sources) - position
            if missing <= 0:
                break
            source.task_id = fingerprint(source.identity() or source.task_id)
            source.lineage = whole_credit(source.task_id, 1)
            names = [origin.name for origin in source.origins()]
            found.update(dict.fromkeys(names))
            call = worker.call([source])
            with closing(call.outputs()) as outputs:
                _add(sample, outputs, ceil(missing / left), next(iter(names), ""))
            sample.report.add(call.report)
    sample.sources = list(found)


def _add(sample: Sample, outputs: Iterator[AnyTask], room: int, source: str) -> None:
    for output in outputs:
        for task in _divided(output, room):
            number = len(sample.tasks)
            task.task_id = f"{output.task_id}.{number}"
            task.lineage = whole_credit(str(number), 0)
            sample.tasks.append(task)
            sample.source_of.append(source)
            room -= task.num_items
        if room <= 0:
            return


def _divided(task: AnyTask, most: int) -> list[AnyTask]:
    """Return records from all over a task as tasks of their own, or all of it if it cannot be."""
    items = task.num_items
    if items == 1:
        return [task]
    rows = [at * items // most for at in range(most)] if items > most else range(items)
    try:
        return [task.take([row]) for row in rows]
    except TypeError:
        return [task]
