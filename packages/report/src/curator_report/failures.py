"""Reasons: why records were dropped or failed, the most common first."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from curator_core import QuarantineRecord, StageCounts
from curator_core.io.filesystems import parent_of
from curator_core.model.formatting import count


@dataclass(frozen=True)
class Failure:
    """Quarantined records of one stage with the same reason."""

    stage: str
    reason: str
    items: int
    examples: tuple[QuarantineRecord, ...]

    @property
    def first_place(self) -> str:
        """Return the place of the first one: the file, and the line if it is known."""
        return place_of(self.examples[0])

    @property
    def message(self) -> str:
        """Return the reason and, unless the reason contains it, the first place."""
        place = self.first_place
        return self.reason if not place or place in self.reason else f"{self.reason} ({place})"


MOST_EXAMPLES = 5


def place_of(record: QuarantineRecord) -> str:
    """Return the source and the place in it; only the place if that contains the file's name."""
    source, where = record.source, record.where
    if not source or where.startswith((source, f"{parent_of(source)}/")):
        return where
    return f"{source}, {where}" if where else source


def group_failures(records: Iterable[QuarantineRecord]) -> list[Failure]:
    """Group quarantined records by stage and reason."""
    groups: dict[tuple[str, str], list[QuarantineRecord]] = {}
    for record in records:
        groups.setdefault((record.stage, _grouping_reason(record)), []).append(record)
    failures = [
        Failure(
            stage,
            found[0].reason if len(found) == 1 else reason,
            sum(r.items for r in found),
            tuple(found[:MOST_EXAMPLES]),
        )
        for (stage, reason), found in groups.items()
    ]
    return sorted(failures, key=lambda failure: -failure.items)


def _grouping_reason(record: QuarantineRecord) -> str:
    """Return the reason without file names and URLs, so that many of them can share a reason."""
    reason = record.reason.replace(record.source, "…") if record.source else record.reason
    return _URL.sub("…", reason)


_URL = re.compile(r"""\b[A-Za-z][A-Za-z0-9+.-]*://[^\s"'<>]*[^\s"'<>.,:;!?)]""")


def drop_reasons(stages: Mapping[str, StageCounts]) -> list[tuple[str, str, int]]:
    """Return stage, reason and count, in the order of the stages."""
    return [
        (name, reason, items)
        for name, counts in stages.items()
        for reason, items in commonest(counts.reasons)
    ]


def commonest(reasons: Mapping[str, int]) -> list[tuple[str, int]]:
    return Counter(reasons).most_common()


def summarize(counts: StageCounts, failures: Iterable[Failure]) -> str:
    """Join the reasons of one stage in a line, with counts only if there are several."""
    found = commonest(counts.reasons) + [(f.reason, f.items) for f in failures]
    if len(found) == 1:
        return found[0][0]
    return ", ".join(f"{count(items)} {reason}" for reason, items in found)
