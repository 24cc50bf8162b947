"""Rules: what each filter of a run kept and dropped, in figures and examples."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import nsmallest

from curator_core.reporting.directories import RunRecord
from curator_core.reporting.histograms import Scores
from curator_core.reporting.scores import limits_in
from curator_core.writing.dropped import STAGE_COLUMN

from curator_image.reporting.records import Record

EXAMPLES = 24
_HELD = 40 * EXAMPLES


@dataclass
class Rule:
    """One stage that dropped pictures, or that scored them."""

    name: str
    score_field: str | None = None
    limits: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    passed: int = 0
    scores: Scores = field(default_factory=Scores)
    examples: list[Record] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        return self.reasons.total()

    def drop(self, record: Record) -> None:
        self.examples = _sample([*self.examples, record])
        score = self.score_of(record)
        if score is not None:
            self.scores.dropped.append(score)

    def nearest(self, records: Iterable[Record]) -> list[Record]:
        """Of some records those whose scores are nearest to where the rule cuts."""
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
    """Cut back now and then, so that few are held."""
    return records if len(records) < _HELD else nsmallest(EXAMPLES, records, key=_rank)


def sample_of(records: Iterable[Record]) -> list[Record]:
    return nsmallest(EXAMPLES, records, key=_rank)


def _rank(record: Record) -> bytes:
    return record.rank


@dataclass
class Sorted:
    """All rules of a run, in order, and a sample of what stayed to the end."""

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
        """A rule that came before the one that dropped it had kept it."""
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
    """The rules that a run had, with exact counts."""
    rules: dict[str, Rule] = {}
    for stage in run.facts.get("plan", []):
        name, options = stage["name"], stage.get("options", {})
        counts = run.result.stages[name]
        score_field = options.get("score_field")
        if not counts.reasons and not isinstance(score_field, str):
            continue
        field_name = options.get("filter_field") or score_field
        rules[name] = Rule(
            name,
            field_name if isinstance(field_name, str) else None,
            limits_in(options),
            Counter(counts.reasons),
            counts.items_out,
        )
    return Sorted(rules)
