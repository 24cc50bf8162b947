"""Report page of a run: one self-contained HTML file that needs no network."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from curator_core import QuarantineRecord, StageCounts
from curator_core.errors import CuratorError
from curator_core.io.filesystems import join
from curator_core.io.statistics import read_summary
from curator_core.model.formatting import count, counted, duration, figure, share, shortened, size
from curator_core.model.node_usage import NodeUsage
from curator_core.run.directory import RunDirectory

from curator_report.bottleneck import ReportedBottleneck, bottleneck_of
from curator_report.comparison import Comparison, compare_with_previous
from curator_report.failures import (
    Failure,
    drop_reasons,
    group_failures,
    items_received,
    place_of,
)
from curator_report.history import slowest_first
from curator_report.html import render_page
from curator_report.run_record import RunRecord, read_run
from curator_report.samples import Samples, changed_records, dropped_records, in_order
from curator_report.scores import ScoreFigures, score_figures
from curator_report.sections import render_sections
from curator_report.stage_tables import Funnel, StageTables, funnel, stage_tables, steps
from curator_report.statistics import ColumnFigures, column_figures
from curator_report.summary import Summary, next_command
from curator_report.timelines import TimePlot, timelines

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
    text = render(read_run(run_dir, in_short=True))
    RunDirectory(run_dir).put(FILE, text.encode("utf-8", "replace"))
    return report_path(run_dir)


def render(record: RunRecord) -> str:
    """Return the whole page. Text from data is escaped, and secrets are masked."""
    run = page_data(record)
    page = render_page("run", title=record.name, run=run, sections=[])
    sections = render_sections(record, MOST_BYTES - len(page.encode("utf-8", "replace")))
    if not sections:
        return page
    return render_page("run", title=record.name, run=run, sections=sections)


Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class FailureExample:
    """A quarantined record: its place, the error, and its first bytes if they are text."""

    place: str
    detail: str
    text: str


@dataclass(frozen=True)
class FailureGroup:
    """Quarantined records with the same reason, and a few examples."""

    title: str
    examples: Sequence[FailureExample]


@dataclass(frozen=True)
class PageData:
    """All that the page of a run shows, in its order; empty parts have no section."""

    kind: str
    verdict: str
    facts: Rows
    command: str
    purpose: str
    bottleneck: ReportedBottleneck | None
    funnel: Funnel | None
    stages: StageTables
    timelines: Sequence[TimePlot]
    drops: Rows
    drops_hidden: int
    scores: ScoreFigures
    models: Rows
    metrics: Rows
    nodes: Rows
    changed: Samples
    dropped: Samples
    data: Sequence[ColumnFigures]
    data_problem: str
    failures: Sequence[FailureGroup]
    failures_hidden: int
    slowest: Rows
    comparison: Comparison | None
    files: Rows
    environment: Rows


def page_data(record: RunRecord) -> PageData:
    """Compute the contents of the page, without the sections of other packages."""
    result = record.result
    samples = in_order(record.history.samples, result.stages)
    drops = _drops(result.stages)
    failures = group_failures(result.quarantined)
    command, purpose = next_command(record)
    data, problem = _data(record.statistics)
    return PageData(
        kind={"done": "good", "running": "going"}.get(record.state, "bad"),
        verdict=describe_state(record),
        facts=_facts(record),
        command=command,
        purpose=purpose,
        bottleneck=bottleneck_of(
            result.usages, record.facts.get("needs", {}), record.history.diagnosis
        ),
        funnel=funnel(result.stages, wrote=bool(record.folders)),
        stages=stage_tables(result.stages, result.usages, result.seconds),
        timelines=timelines(record.history, _worker_stages(record)),
        drops=drops[:_MOST_ROWS],
        drops_hidden=max(0, len(drops) - _MOST_ROWS),
        scores=score_figures(result.stages, record.facts.get("plan", [])),
        models=_models(result.stages)[:_MOST_ROWS],
        metrics=_metrics(result.stages)[:_MOST_ROWS],
        nodes=[_node(name, usage) for name, usage in result.nodes.items()][:_MOST_ROWS],
        changed=changed_records(samples),
        dropped=dropped_records(samples),
        data=data,
        data_problem=problem,
        failures=[_failure(failure) for failure in failures[:_MOST_FAILURES]],
        failures_hidden=max(0, len(failures) - _MOST_FAILURES),
        slowest=_slowest(record),
        comparison=compare_with_previous(record),
        files=_files(record)[:_MOST_ROWS],
        environment=list(_environment(record)),
    )


def _worker_stages(record: RunRecord) -> list[str]:
    """Return the stages in snapshots: without the first stage if it lists sources."""
    names = [str(stage["name"]) for stage in record.facts.get("plan", [])]
    points = record.history.points
    observed = points[-1][1]["stages"] if points else []
    return names[len(names) - len(observed) :]


def _slowest(record: RunRecord) -> Rows:
    return [
        [shortened(slow.label, 200), duration(slow.seconds)]
        for slow in slowest_first(record.history)
        if slow.label and slow.seconds >= 0.1
    ]


_ELSEWHERE = ("files", "dropped", "report")


def _facts(record: RunRecord) -> Rows:
    """Return the facts below the verdict; the bottleneck has its own section."""
    evidence = record.history.diagnosis.get("evidence")
    account = Summary(record.name, record.result).account()
    return _kept(record) + [
        (label, text)
        for label, text in account
        if label not in _ELSEWHERE and not (evidence and evidence in text)
    ]


def _kept(record: RunRecord) -> list[tuple[str, str]]:
    """Return how much was kept: of the input, and of what stages made of it, such as clips."""
    *found, end = steps(record.result.stages, wrote=bool(record.folders))
    if not found:
        return [("kept", f"all {count(end.items)}")] if end.items == end.of > 0 else []
    ends = [(before.of, after.made_of) for before, after in pairwise(found) if after.made_of]
    parts = [f"{count(left)} of {count(of)}, {share(left, of)}"
            for of, left in (*ends, (end.of, end.items))]  # fmt: skip
    return [("kept", "; of what they became, ".join(parts))]


def describe_state(record: RunRecord) -> str:
    """Return the state of the run in one sentence, also while it runs or after it was killed."""
    if record.state == "running":
        return f"{record.name} is running: {record.done} in {duration(record.result.seconds)}"
    if record.state == "dead":
        return (
            f"{record.name} was killed; "
            f"{counted(record.result.sources_done, 'source')} done and kept"
        )
    return Summary(record.name, record.result).verdict()


def _drops(stages: dict[str, StageCounts]) -> Rows:
    return [
        [f"{stage}: {shortened(reason, 200)}", count(items),
         share(items, items_received(stages[stage]))]
        for stage, reason, items in sorted(drop_reasons(stages), key=lambda one: -one[2])
    ]  # fmt: skip


def _models(stages: dict[str, StageCounts]) -> Rows:
    return [
        [f"{stage}: {shortened(model, 200)}", count(items)]
        for stage, counts in stages.items()
        for model, items in counts.models.items()
    ]


def _metrics(stages: dict[str, StageCounts]) -> Rows:
    return [
        [f"{stage}: {name}", count(one.count), *map(figure, (one.mean, one.min, one.max, one.sum))]
        for stage, counts in stages.items()
        for name, one in counts.metrics.items()
    ]


def _node(name: str, usage: NodeUsage) -> Sequence[str]:
    gpus = usage.gpus
    fullest = max(gpus, key=lambda gpu: gpu.memory_share, default=None)
    return [
        name,
        size(usage.used_bytes),
        size(usage.total_bytes),
        count(len(gpus)) if gpus else "",
        f"{size(fullest.used_bytes)} of {size(fullest.total_bytes)}" if fullest else "",
        ", ".join(f"{gpu.utilization:.0%}" for gpu in gpus if gpu.utilization is not None),
    ]


def _failure(failure: Failure) -> FailureGroup:
    title = f"{count(failure.items)} in {failure.stage}: {failure.reason}"
    return FailureGroup(shortened(title, 300), [_example(record) for record in failure.examples])


def _example(record: QuarantineRecord) -> FailureExample:
    attempts = f" ({record.attempts} attempts)" if record.attempts > 1 else ""
    text = ""
    if record.payload and not record.whole_task:
        text = shortened(record.payload[:1000].decode("utf-8", "replace"), 300)
    return FailureExample(
        (place_of(record) or record.task_id) + attempts,
        (record.detail or record.reason)[-_LONGEST:],
        text,
    )


def _data(collected: Sequence[str]) -> tuple[Sequence[ColumnFigures], str]:
    """Return the statistics of the data, or the error: a missing file must not stop the report."""
    try:
        return column_figures(read_summary(collected)), ""
    except (CuratorError, OSError) as error:
        return [], str(error)


def _files(record: RunRecord) -> Rows:
    dropped = {f"{folder} (dropped)": n for folder, n in record.dropped_folders.items()}
    return [[folder, count(n)] for folder, n in (record.folders | dropped).items()]


def _environment(record: RunRecord) -> Iterable[tuple[str, str]]:
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
    return ((name, str(value)) for name, value in rows.items() if value)


def _retries(facts: dict[str, Any]) -> str:
    times = facts.get("retries")
    return f"{times}, the last on {_time(facts.get('retried'))}" if times else ""


def _time(seconds: Any) -> str:
    if not isinstance(seconds, int | float):
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
