"""The filters page: a histogram of scores and sheets of pictures for each rule."""

from curator_core import InputError
from curator_core.io.filesystems import join, open_filesystem
from curator_core.io.writers.dropped import REASON_COLUMN
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.figures import count, counted, share
from curator_core.reporting.fragments import facts_table, figures_table, page, section
from curator_core.reporting.histograms import KEY, number

from curator_image.reporting.records import Record, records_in
from curator_image.reporting.rules import Rule, Sorted, rules_of, sample_of
from curator_image.reporting.styles import STYLE
from curator_image.reporting.thumbnails import thumbnail

PAGE = "pictures.html"

MOST_LOOKED_AT = 20_000
"""Maximum number of pictures to examine. Counts cover all pictures."""


def write_pictures(run_dir: str, output: str | None = None) -> str:
    """Write the page about a run with picture filters, and return its path."""
    run = read_run(run_dir)
    writer = _writer_of(run)
    found = rules_of(run)
    if not found.rules:
        raise InputError(
            f"run {run_dir} neither dropped nor scored pictures; put filters into its pipeline"
        )
    for record in records_in(writer["path"], MOST_LOOKED_AT):
        found.add_kept(record)
    for record in records_in(writer["dropped_path"] or "", MOST_LOOKED_AT):
        found.add_dropped(record)
    where = output or join(run_dir, PAGE)
    fs, path = open_filesystem(where)
    fs.makedirs(path.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(path, render(run.name, found, writer["dropped_path"]).encode("utf-8", "replace"))
    return where


def _writer_of(run: RunRecord) -> dict[str, str]:
    """Return the options of the last writer."""
    for stage in reversed(run.facts.get("plan", [])):
        options = stage.get("options", {})
        if "dropped_path" in options:
            return {"path": options["path"], "dropped_path": options["dropped_path"] or ""}
    raise InputError(f"run {run.path} wrote no pictures; end its pipeline with a writer")


def render(name: str, found: Sorted, dropped_path: str) -> str:
    """Render the page. All text from data is escaped."""
    rules = list(found.rules.values())
    parts = [
        f"<h1>{_escaped(name)}</h1>",
        _overview(rules),
        "" if dropped_path else _ADVICE,
        section("Kept to the end", _sheet(sample_of(found.kept), None)),
        *(section(_escaped(_titled(rule)), _about(rule, found)) for rule in rules),
        f"<p>{counted(found.looked_at, 'picture')} looked at for examples and histograms; "
        "counts are of all.</p>",
    ]
    return page(f"{name}: pictures", "".join(parts), STYLE)


_ADVICE = (
    "<p>No dropped pictures can be shown: the writer had no dropped_path. Give it one to see "
    "what each rule takes away.</p>"
)


def _titled(rule: Rule) -> str:
    return f"{rule.name}: {count(rule.dropped)} dropped"


def _overview(rules: list[Rule]) -> str:
    rows = []
    for rule in rules:
        rows.append([_escaped(rule.name), count(rule.came), count(rule.dropped),
                     share(rule.dropped, rule.came), count(rule.set_aside)])  # fmt: skip
    return figures_table(("rule", "came", "dropped", "share", "set aside"), rows)


def _about(rule: Rule, found: Sorted) -> str:
    parts = [facts_table((reason, count(times)) for reason, times in rule.reasons.items())]
    for title, drawing in rule.drawings():
        parts.append(f"<h3>{_escaped(title)} {KEY}</h3>{drawing}")
    dropped = sample_of(rule.examples)
    if dropped:
        parts.append(f"<h3>Dropped</h3>{_sheet(dropped, rule)}")
    kept = rule.nearest(found.kept)
    if kept:
        parts.append(f"<h3>Kept, nearest to the limit</h3>{_sheet(kept, rule)}")
    return "".join(parts)


def _sheet(records: list[Record], rule: Rule | None) -> str:
    """Render pictures, sorted by score if they have one."""
    if rule is not None:
        records = sorted(records, key=lambda record: rule.score_of(record) or 0.0)
    shown = "".join(_figure(record, rule) for record in records)
    return f'<div class="sheet">{shown}</div>' if shown else ""


def _figure(record: Record, rule: Rule | None) -> str:
    score = None if rule is None else rule.score_of(record)
    note = "" if score is None else number(score)
    if not note and rule is not None:
        note = str(record.facts.get(REASON_COLUMN, ""))
    return thumbnail(record.image, record.name, note)


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)
