"""The filters page: what each rule kept and dropped, with histograms and pictures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import nsmallest
from html import escape

from curator_core import InputError
from curator_core.io.filesystems import join, open_filesystem
from curator_core.io.writers import REASON_COLUMN, STAGE_COLUMN
from curator_core.model.formatting import count, counted, share
from curator_core.model.scores import Scores
from curator_report.histograms import HistogramScores, binned_histogram, histogram, legend, number
from curator_report.html import facts_table, figures_table, page, section
from curator_report.run_record import RunRecord, read_run
from curator_report.scores import limits_in

from curator_image.report.records import PictureRecord, read_records
from curator_image.report.thumbnails import STYLE, thumbnail

MAX_EXAMPLES = 24
_MAX_HELD = 40 * MAX_EXAMPLES


@dataclass
class RuleReport:
    """One stage that dropped or scored pictures."""

    name: str
    score_field: str | None = None
    limits: list[float] = field(default_factory=list)
    reasons: Counter[str] = field(default_factory=Counter)
    items_in: int = 0
    failed: int = 0
    binned_scores: Mapping[str, Scores] = field(default_factory=dict)
    """All scores that it gave, binned by the run, by name."""
    scores: HistogramScores = field(default_factory=HistogramScores)
    """The scores in the examined records."""
    examples: list[PictureRecord] = field(default_factory=list)

    @property
    def dropped(self) -> int:
        return self.reasons.total()

    def drawings(self) -> Iterator[tuple[str, str]]:
        """Yield a histogram of each score with its title."""
        for name, scores in self.binned_scores.items():
            title = self.score_field if name == "score" and self.score_field else name
            if drawing := binned_histogram(scores, self.limits, f"{self.name}: {title}"):
                yield title, drawing.to_html()
        if not self.binned_scores and (drawn := histogram(self.scores, self.limits)):
            yield self.score_field or "score", drawn

    def drop(self, record: PictureRecord) -> None:
        self.examples = _thin_out([*self.examples, record])
        score = self.score_of(record)
        if score is not None:
            self.scores.dropped.append(score)

    def nearest(self, records: Iterable[PictureRecord]) -> list[PictureRecord]:
        """Return the records whose scores are nearest to a limit of the rule."""
        near = [
            (min(abs(score - limit) for limit in self.limits), record.rank, record)
            for record in records
            if (score := self.score_of(record)) is not None and self.limits
        ]
        return [record for _, _, record in nsmallest(MAX_EXAMPLES // 2, near)]

    def score_of(self, record: PictureRecord) -> float | None:
        value = record.facts.get(self.score_field) if self.score_field else None
        return float(value) if isinstance(value, int | float) else None


def _thin_out(records: list[PictureRecord]) -> list[PictureRecord]:
    """Reduce a growing sample now and then, to hold few records."""
    return records if len(records) < _MAX_HELD else nsmallest(MAX_EXAMPLES, records, key=_rank)


def sample_records(records: Iterable[PictureRecord]) -> list[PictureRecord]:
    return nsmallest(MAX_EXAMPLES, records, key=_rank)


def _rank(record: PictureRecord) -> bytes:
    return record.rank


@dataclass
class RunPictures:
    """All rules of a run in order, and a sample of the pictures kept to the end."""

    rules: dict[str, RuleReport]
    kept: list[PictureRecord] = field(default_factory=list)
    examined: int = 0

    def add_kept(self, record: PictureRecord) -> None:
        self.examined += 1
        self.kept = _thin_out([*self.kept, record])
        for rule in self.rules.values():
            score = rule.score_of(record)
            if score is not None:
                rule.scores.kept.append(score)

    def add_dropped(self, record: PictureRecord) -> None:
        """Add a dropped picture; all rules before the one that dropped it had kept it."""
        self.examined += 1
        by = str(record.facts.get(STAGE_COLUMN, ""))
        for name, rule in self.rules.items():
            if name == by:
                rule.drop(record)
                return
            score = rule.score_of(record)
            if score is not None:
                rule.scores.kept.append(score)


def read_rules(run: RunRecord) -> RunPictures:
    """Return the rules of a run, with exact counts."""
    rules: dict[str, RuleReport] = {}
    for stage in run.facts.get("plan", []):
        name, options = stage["name"], stage.get("options", {})
        counts = run.result.stages[name]
        score_field = options.get("score_field")
        if not (counts.reasons or counts.scores or isinstance(score_field, str)):
            continue
        field_name = options.get("filter_field") or score_field
        rules[name] = RuleReport(
            name,
            field_name if isinstance(field_name, str) else None,
            limits_in(options),
            Counter(counts.reasons),
            counts.items_in,
            counts.items_failed + counts.items_rejected,
            counts.scores,
        )
    return RunPictures(rules)


PAGE = "pictures.html"

MAX_EXAMINED = 20_000
"""Maximum number of pictures to examine. Counts cover all pictures."""


def write_pictures(run_dir: str, output: str | None = None) -> str:
    """Write the page about a run with picture filters, and return its path."""
    run = read_run(run_dir)
    writer = _last_writer(run)
    found = read_rules(run)
    if not found.rules:
        raise InputError(
            f"run {run_dir} neither dropped nor scored pictures: it has no filters to report"
        )
    for record in read_records(writer["path"], MAX_EXAMINED):
        found.add_kept(record)
    for record in read_records(writer["dropped_path"] or "", MAX_EXAMINED):
        found.add_dropped(record)
    where = output or join(run_dir, PAGE)
    fs, path = open_filesystem(where)
    fs.makedirs(path.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(path, render(run.name, found, writer["dropped_path"]).encode("utf-8", "replace"))
    return where


def _last_writer(run: RunRecord) -> dict[str, str]:
    """Return the options of the last writer."""
    for stage in reversed(run.facts.get("plan", [])):
        options = stage.get("options", {})
        if "dropped_path" in options:
            return {"path": options["path"], "dropped_path": options["dropped_path"] or ""}
    raise InputError(f"run {run.path} wrote no pictures; end its pipeline with a writer")


def render(name: str, found: RunPictures, dropped_path: str) -> str:
    """Render the page. All text from data is escaped."""
    rules = list(found.rules.values())
    parts = [
        f"<h1>{escape(name)}</h1>",
        _overview(rules),
        "" if dropped_path else _NO_DROPPED_PATH,
        section("Kept to the end", _sheet(sample_records(found.kept), None)),
        *(section(escape(_rule_title(rule)), _rule_section(rule, found)) for rule in rules),
        f"<p>{counted(found.examined, 'picture')} examined for examples and histograms; "
        "counts cover all pictures.</p>",
    ]
    return page(f"{name}: pictures", "".join(parts), STYLE)


_NO_DROPPED_PATH = (
    "<p>Dropped pictures cannot be shown: the writer has no dropped_path. Set it to see what "
    "each rule drops.</p>"
)


def _rule_title(rule: RuleReport) -> str:
    return f"{rule.name}: {count(rule.dropped)} dropped"


def _overview(rules: list[RuleReport]) -> str:
    rows = []
    for rule in rules:
        rows.append([escape(rule.name), count(rule.items_in), count(rule.dropped),
                     share(rule.dropped, rule.items_in), count(rule.failed)])  # fmt: skip
    return figures_table(("rule", "items_in", "dropped", "share", "set aside"), rows)


def _rule_section(rule: RuleReport, found: RunPictures) -> str:
    parts = [facts_table((reason, count(times)) for reason, times in rule.reasons.items())]
    for title, drawing in rule.drawings():
        parts.append(f"<h3>{escape(title)} {legend()}</h3>{drawing}")
    dropped = sample_records(rule.examples)
    if dropped:
        parts.append(f"<h3>Dropped</h3>{_sheet(dropped, rule)}")
    kept = rule.nearest(found.kept)
    if kept:
        parts.append(f"<h3>Kept, nearest to the limit</h3>{_sheet(kept, rule)}")
    return "".join(parts)


def _sheet(records: list[PictureRecord], rule: RuleReport | None) -> str:
    """Render pictures, sorted by score if they have one."""
    if rule is not None:
        records = sorted(records, key=lambda record: rule.score_of(record) or 0.0)
    shown = "".join(_figure(record, rule) for record in records)
    return f'<div class="sheet">{shown}</div>' if shown else ""


def _figure(record: PictureRecord, rule: RuleReport | None) -> str:
    score = None if rule is None else rule.score_of(record)
    note = "" if score is None else number(score)
    if not note and rule is not None:
        note = str(record.facts.get(REASON_COLUMN, ""))
    return thumbnail(record.image, record.name, note)
