"""Report page of a run: one self-contained HTML file that needs no network."""

import time
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any

from curator_core.errors import CuratorError
from curator_core.io.filesystems import join
from curator_core.io.statistics.summaries import read_summary
from curator_core.logs import log
from curator_core.model.records import QuarantineRecord, StageCounts
from curator_core.reporting.bottlenecks import bottleneck_of
from curator_core.reporting.comparing import comparison
from curator_core.reporting.continuing import next_step
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.exhibits import shown_exhibits
from curator_core.reporting.figures import count, counted, duration, share, shortened
from curator_core.reporting.fragments import facts_table, figures_table, page, section
from curator_core.reporting.histograms import HISTOGRAM_STYLE
from curator_core.reporting.histories import slowest_first
from curator_core.reporting.reasons import (
    Failure,
    came_to,
    drop_reasons,
    failures_of,
    place_of,
)
from curator_core.reporting.samples import changed_records, dropped_records, in_order
from curator_core.reporting.scores import score_histograms
from curator_core.reporting.stages import funnel, stage_tables, steps
from curator_core.reporting.statistics import as_html
from curator_core.reporting.styling import PLOTS, SCORES
from curator_core.reporting.summaries import Summary
from curator_core.reporting.timelines import timelines
from curator_core.run.directory import RunDirectory
from curator_core.run.result import RunResult

LOG = log()

FILE = "report.html"
MOST_BYTES = 2_900_000
_LONGEST = 4000
_MOST_ROWS = 200
_MOST_FAILURES = 60
"""Limits that keep the page readable and below 3 MB; the run directory has everything."""


def report_path(run_dir: str) -> str:
    return join(run_dir, FILE)


def write_report(run_dir: str) -> str:
    """Write the page into the run directory and return its path."""
    page = render(read_run(run_dir, in_short=True)).encode("utf-8", "replace")
    RunDirectory(run_dir).put(FILE, page)
    return report_path(run_dir)


def leave_report(result: RunResult) -> None:
    """Write the page of a run that has ended; if that fails, warn and leave the run as it is."""
    if result.run_dir is None or Summary("", result).is_repetition:
        return
    try:
        write_report(result.run_dir)
    except Exception as error:  # noqa: BLE001 - a file system may raise anything
        LOG.warning("the report could not be written: %s", error)


def render(record: RunRecord) -> str:
    """Return the whole page. Text from data is escaped, and secrets are masked."""
    above, below = _above(record), _below(record)
    taken = len("".join((*above, *below)).encode("utf-8", "replace"))
    shown = shown_exhibits(record, MOST_BYTES - taken)
    style = PLOTS + HISTOGRAM_STYLE + SCORES + shown.style
    return page(record.name, "".join((*above, shown.html, *below)), style)


def _above(record: RunRecord) -> list[str]:
    """Return the sections above those of plugins."""
    result = record.result
    samples = in_order(record.history.samples, result.stages)
    return [
        _head(record),
        section("What holds it up", _bottleneck(record)),
        section("What was left", funnel(result.stages, wrote=bool(record.folders))),
        section("Stages", stage_tables(result.stages, result.usages, result.seconds)),
        section("Over time", timelines(record.history, _worker_stages(record))),
        section("Dropped, by reason", _drops(result.stages)),
        section("Scores", score_histograms(result.stages, record.facts.get("plan", []))),
        section("Models", _models(result.stages)),
        section("Before and after", changed_records(samples)),
        section("Dropped records", dropped_records(samples)),
    ]


def _below(record: RunRecord) -> list[str]:
    return [
        section("Data", _data(record.statistics)),
        section("Quarantine", _failures(failures_of(record.result.quarantined))),
        section("Slowest sources", _slowest(record)),
        section("Since the previous run", comparison(record)),
        section("Files", _files(record)),
        section("Environment", _environment(record)),
    ]


def _bottleneck(record: RunRecord) -> str:
    found = bottleneck_of(record.result.usages, record.facts.get("needs", {}),
                          record.history.diagnosis)  # fmt: skip
    if found is None:
        return ""
    name, told = f"<b>{escape(found.name)}</b>: ", found.evidence
    if not found.name:
        name, told = "", told[0].upper() + told[1:]
    return f'<p>{name}{escape(told)}.</p><p class="advice">To try: {escape(found.advice)}.</p>'


def _worker_stages(record: RunRecord) -> list[str]:
    """Return the stages in pulses: if the first stage lists sources, only the stages after it."""
    names = [str(stage["name"]) for stage in record.facts.get("plan", [])]
    told = record.history.points[-1][1]["stages"] if record.history.points else []
    return names[len(names) - len(told) :]


def _slowest(record: RunRecord) -> str:
    rows = [
        [escape(shortened(slow.label, 200)), duration(slow.seconds)]
        for slow in slowest_first(record.history)
        if slow.label and slow.seconds >= 0.1
    ]
    return figures_table(("source", "time in stages"), rows)


_ELSEWHERE = ("files", "dropped", "report")


def _head(record: RunRecord) -> str:
    summary = Summary(record.name, record.result)
    kind = {"done": "good", "running": "going"}.get(record.state, "bad")
    verdict = f'<p class="{kind}">{escape(verdict_of(record))}</p>'
    below = record.history.diagnosis.get("evidence")  # the bottleneck has its own section
    rows = [(label, text) for label, text in summary.account()
            if label not in _ELSEWHERE and not (below and below in text)]  # fmt: skip
    command, told = next_step(record)
    following = f"<p>Next: <code>{escape(command)}</code> {escape(told)}.</p>"
    return (
        f"<h1>{escape(record.name)}</h1>{verdict}{facts_table([*_kept(record), *rows])}{following}"
    )


def _kept(record: RunRecord) -> list[tuple[str, str]]:
    """Return how much was kept: of the input, and of what stages made of it, such as clips."""
    *found, end = steps(record.result.stages, wrote=bool(record.folders))
    if not found:
        return [("kept", f"all {count(end.items)}")] if end.items == end.of > 0 else []
    ends = [(before.of, after.made_of) for before, after in pairwise(found) if after.made_of]
    told = [f"{count(left)} of {count(of)}, {share(left, of)}"
            for of, left in (*ends, (end.of, end.items))]  # fmt: skip
    return [("kept", "; of what they became, ".join(told))]


def verdict_of(record: RunRecord) -> str:
    """Return the state of the run in one sentence, also while it runs or after it was killed."""
    if record.state == "running":
        return f"{record.name} is running: {record.done} in {duration(record.result.seconds)}"
    if record.state == "dead":
        return (
            f"{record.name} was killed: its process is gone, and "
            f"{counted(record.result.sources_done, 'source')} done and kept"
        )
    return Summary(record.name, record.result).verdict()


def _drops(stages: dict[str, StageCounts]) -> str:
    found = drop_reasons(stages)
    rows = [
        [f"{escape(stage)}: {escape(shortened(reason, 200))}", count(items),
         share(items, came_to(stages[stage]))]
        for stage, reason, items in sorted(found, key=lambda one: -one[2])[:_MOST_ROWS]
    ]  # fmt: skip
    hidden = len(found) - len(rows)
    note = f"<p>{count(hidden)} more reasons: curate report --json.</p>" if hidden else ""
    return figures_table(("stage and reason", "dropped", "of what it got"), rows) + note


def _models(stages: dict[str, StageCounts]) -> str:
    rows = [
        [f"{escape(stage)}: {escape(shortened(model, 200))}", count(items)]
        for stage, counts in stages.items()
        for model, items in counts.models.items()
    ]
    return figures_table(("stage and model", "records"), rows[:_MOST_ROWS])


def _failures(failures: Sequence[Failure]) -> str:
    hidden = len(failures) - _MOST_FAILURES
    note = f"<p>{count(hidden)} more kinds, in the folder quarantine.</p>" if hidden > 0 else ""
    return "".join(_failure(failure) for failure in failures[:_MOST_FAILURES]) + note


def _failure(failure: Failure) -> str:
    title = f"{count(failure.items)} in {failure.stage}: {failure.reason}"
    samples = "".join(
        f"<dt>{escape(_place(record))}</dt><dd>{_told(record)}{_sample(record)}</dd>"
        for record in failure.examples
    )
    return (
        f"<details><summary>{escape(shortened(title, 300))}</summary><dl>{samples}</dl></details>"
    )


def _told(record: QuarantineRecord) -> str:
    return f"<pre>{escape((record.detail or record.reason)[-_LONGEST:])}</pre>"


def _place(record: QuarantineRecord) -> str:
    attempts = f" ({record.attempts} attempts)" if record.attempts > 1 else ""
    return (place_of(record) or record.task_id) + attempts


def _sample(record: QuarantineRecord) -> str:
    """Return the first bytes of a rejected record, if they are text."""
    if not record.payload or record.whole_task:
        return ""
    text = shortened(record.payload[:1000].decode("utf-8", "replace"), 300)
    return f"<pre>{escape(text)}</pre>"


def _data(collected: Sequence[str]) -> str:
    """Return the statistics of the data; a missing file must not prevent the report."""
    try:
        return as_html(read_summary(collected))
    except (CuratorError, OSError) as error:
        return f"<p>{escape(str(error))}</p>"


def _files(record: RunRecord) -> str:
    dropped = {f"{folder} (dropped)": n for folder, n in record.dropped_folders.items()}
    rows = [[escape(folder), count(n)] for folder, n in (record.folders | dropped).items()]
    return figures_table(("folder", "files"), rows[:_MOST_ROWS])


def _environment(record: RunRecord) -> str:
    facts = record.facts
    packages = ", ".join(f"{n} {v}" for n, v in facts.get("packages", {}).items())
    rows = {
        "executor": facts.get("executor"),
        "started": _time(facts.get("started")),
        "ended": _time(facts.get("ended")),
        "retries": _retries(facts),
        "Python": facts.get("python"),
        "packages": packages,
        "command": " ".join(map(str, facts.get("command", ()))),
        "run directory": record.path,
    }
    return facts_table((name, str(value)) for name, value in rows.items() if value)


def _retries(facts: dict[str, Any]) -> str:
    times = facts.get("retries")
    return f"{times}, the last on {_time(facts.get('retried'))}" if times else ""


def _time(seconds: Any) -> str:
    if not isinstance(seconds, int | float):
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
