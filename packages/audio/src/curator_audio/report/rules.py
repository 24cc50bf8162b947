"""Rules: how much each stage of a run kept and dropped."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Any

from curator_report.failures import group_failures
from curator_report.histograms import HistogramScores
from curator_report.run_record import RunRecord

from curator_audio.filters import measures
from curator_audio.report.rows import Row
from curator_audio.segments import JOINED

EXAMPLES = 4

_HELD = 50 * EXAMPLES

_LIMITS = ("at_least", "at_most")


@dataclass
class RuleCounts:
    """A stage that dropped rows or has limits."""

    name: str
    column: str | None
    limits: list[float]
    reasons: Counter[str]
    passed: int
    seconds: float = 0.0
    without_duration: int = 0
    """Number of dropped rows without a duration."""

    examples: list[Row] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        return self.reasons.total()

    def add(self, row: Row) -> None:
        self.examples = sample_rows([*self.examples, row], EXAMPLES)
        if row.seconds is None:
            self.without_duration += 1
        else:
            self.seconds += row.seconds


@dataclass
class RowsByRule:
    """The rules of a run in order, with kept and dropped rows and their scores."""

    rules: dict[str, RuleCounts]
    kept: list[Row] = field(default_factory=list)
    kept_rows: int = 0
    kept_seconds: float = 0.0
    scores: dict[str, HistogramScores] = field(default_factory=dict)
    sources: dict[str, list[Row]] = field(default_factory=dict)
    """Segments by the recording that they were cut from."""

    quarantined: Counter[str] = field(default_factory=Counter)
    """Number of quarantined rows, by stage and reason."""

    def add_kept(self, row: Row) -> None:
        self.kept_rows += 1
        self.kept_seconds += row.seconds or 0.0
        self.kept = sample_rows([*self.kept, row], 2 * EXAMPLES)
        self._note(row)
        for name in _measured_columns(row):
            self._scores(name).kept.append(row.number(name) or 0.0)

    def add_dropped(self, row: Row) -> None:
        rule = self.rules.get(row.dropped_by)
        if rule is not None:
            rule.add(row)
        self._note(row)
        for name in _measured_columns(row):
            self._scores(name).dropped.append(row.number(name) or 0.0)

    def _note(self, row: Row) -> None:
        if row.span is not None:
            bare = Row({**row.facts}, None)
            self.sources.setdefault(row.source, []).append(bare)

    def _scores(self, name: str) -> HistogramScores:
        return self.scores.setdefault(name, HistogramScores())

    def limits_of(self, column: str) -> list[float]:
        found = [limit for rule in self.rules.values() if rule.column == column
                 for limit in rule.limits]  # fmt: skip
        return sorted(set(found))


def sample_rows(rows: Iterable[Row], limit: int) -> list[Row]:
    return nsmallest(limit, rows, key=lambda row: row.rank)


MEASURED = {
    "duration": "duration in seconds",
    "snr_db": "signal-to-noise ratio in dB",
    "wer": "word error rate",
    "cer": "character error rate",
    "loudness_lufs": "loudness in LUFS",
    "bandwidth_hz": "bandwidth in Hz",
    "silence": "share of silence",
    "clipping": "share of clipped samples",
}
"""Columns that get a histogram, with their titles; columns of mean opinion scores get one too."""


def _measured_columns(row: Row) -> list[str]:
    """Return the numeric columns of a row that get a histogram."""
    return [name for name in row.facts if is_measured(name) and row.number(name) is not None]


def is_measured(name: str) -> bool:
    return name in MEASURED or name.lower().partition("_")[0].endswith("mos")


def read_rules(run: RunRecord) -> RowsByRule:
    """Return the rules of a run, with exact counts."""
    rules: dict[str, RuleCounts] = {}
    for stage in run.facts.get("plan", []):
        name, options = stage["name"], stage.get("options", {})
        counts = run.result.stages[name]
        reasons = Counter(dict(counts.reasons))
        reasons.pop(JOINED, None)  # joined rows are not lost
        limits = [float(options[one]) for one in _LIMITS
                  if isinstance(options.get(one), int | float)]  # fmt: skip
        if reasons or limits:
            column = _column_of(stage.get("stage", ""), options)
            rules[name] = RuleCounts(name, column, limits, reasons, counts.items_out)
    failures = group_failures(run.result.quarantined)
    aside = Counter({f"{one.stage}: {one.reason}": one.items for one in failures})
    return RowsByRule(rules, quarantined=aside)


def _column_of(stage: str, options: Mapping[str, Any]) -> str | None:
    """Return the column that a filter decides by: its score_field, or the measure of its class."""
    kind = getattr(measures, stage.rpartition(":")[2], None)
    measure = getattr(kind, "measure", None)
    column = measure or options.get("score_field")
    return column if isinstance(column, str) else None
