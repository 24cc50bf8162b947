"""Rules: counts and examples of what each filter of a run kept and dropped."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from html import escape

from curator_core.io.writers.dropped import STAGE_COLUMN
from curator_core.model.scores import Scores as BinnedScores
from curator_core.reporting.directories import RunRecord
from curator_core.reporting.histograms import Scores, drawn_bins, histogram
from curator_core.reporting.scores import limits_in

from curator_image.reporting.records import Record

EXAMPLES = 24
_HELD = 40 * EXAMPLES


@dataclass
class Rule:
    """One stage that dropped or scored pictures."""

    name: str
    score_field: str | None = None
    limits: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    came: int = 0
    set_aside: int = 0
    told: Mapping[str, BinnedScores] = field(default_factory=dict)
    """All scores that it gave, binned by the run, by name."""
    scores: Scores = field(default_factory=Scores)
    """The scores in the examined records."""
    examples: list[Record] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        return self.reasons.total()

    def drawings(self) -> Iterator[tuple[str, str]]:
        """Yield a histogram of each score with its title."""
        for name, scores in self.told.items():
            title = self.score_field if name == "score" and self.score_field else name
            yield title, drawn_bins(scores, self.limits, escape(f"{self.name}: {title}"))
        if not self.told and (drawing := histogram(self.scores, self.limits)):
            yield self.score_field or "score", drawing

    def drop(self, record: Record) -> None:
        self.examples = _sample([*self.examples, record])
        score = self.score_of(record)
        if score is not None:
            self.scores.dropped.append(score)

    def nearest(self, records: Iterable[Record]) -> list[Record]:
        """Return the records whose scores are nearest to a limit of the rule."""
        near = [
            (min(abs(score - limit) for limit in self.limits), record.rank, record)
            for record in records
            if (score := self.score_of(record)) is not None and self.limits
        ]
        return [record for _, _, record in nsmallest(EXAMPLES // 2, near)]

    def score_of(self, record: Record) -> float | None:
        value = record.facts.get(self.score_field) if self.score_field else None
        return float(value) if isinstance(value, int | float) else None


def _sample(records: list[Record]) -> list[Record]:
    """Reduce a growing sample now and then, to hold few records."""
    return records if len(records) < _HELD else nsmallest(EXAMPLES, records, key=_rank)


def sample_of(records: Iterable[Record]) -> list[Record]:
    return nsmallest(EXAMPLES, records, key=_rank)


def _rank(record: Record) -> bytes:
    return record.rank


@dataclass
class Sorted:
    """All rules of a run in order, and a sample of the pictures kept to the end."""

    rules: dict[str, Rule]
    kept: list[Record] = field(default_factory=list)
    looked_at: int = 0

    def add_kept(self, record: Record) -> None:
        self.looked_at += 1
        self.kept = _sample([*self.kept, record])
        for rule in self.rules.values():
            score = rule.score_of(record)
            if score is not None:
                rule.scores.kept.append(score)

    def add_dropped(self, record: Record) -> None:
        """Add a dropped picture; all rules before the one that dropped it had kept it."""
        self.looked_at += 1
        by = str(record.facts.get(STAGE_COLUMN, ""))
        for name, rule in self.rules.items():
            if name == by:
                rule.drop(record)
                return
            score = rule.score_of(record)
            if score is not None:
                rule.scores.kept.append(score)


def rules_of(run: RunRecord) -> Sorted:
    """Return the rules of a run, with exact counts."""
    rules: dict[str, Rule] = {}
    for stage in run.facts.get("plan", []):
        name, options = stage["name"], stage.get("options", {})
        counts = run.result.stages[name]
        score_field = options.get("score_field")
        if not (counts.reasons or counts.scores or isinstance(score_field, str)):
            continue
        field_name = options.get("filter_field") or score_field
        rules[name] = Rule(
            name,
            field_name if isinstance(field_name, str) else None,
            limits_in(options),
            Counter(counts.reasons),
            counts.items_in,
            counts.items_failed + counts.items_rejected,
            counts.scores,
        )
    return Sorted(rules)
