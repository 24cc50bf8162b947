"""What a call of a worker reports besides its outputs. Plain data: it travels between processes."""

from dataclasses import dataclass, field

from curator_core.lineage import Lineage, SourceKey, combined
from curator_core.results import QuarantineRecord, StageCounts
from curator_core.tasks import StagedFile


@dataclass
class CallReport:
    """Credit that came back, files that wait to be published, failures and counts."""

    spent: Lineage = field(default_factory=dict)
    lost: Lineage = field(default_factory=dict)
    staged: list[tuple[StagedFile, tuple[SourceKey, ...]]] = field(default_factory=list)
    quarantined: list[QuarantineRecord] = field(default_factory=list)
    counts: dict[int, StageCounts] = field(default_factory=dict)

    def spend(self, lineage: Lineage) -> None:
        self.spent = combined((self.spent, lineage))

    def lose(self, lineage: Lineage) -> None:
        self.lost = combined((self.lost, lineage))

    def of(self, stage_index: int) -> StageCounts:
        if stage_index not in self.counts:
            self.counts[stage_index] = StageCounts()
        return self.counts[stage_index]
