"""Report page of a run: one self-contained HTML file that needs no network."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from curator_core import QuarantineRecord, StageCounts
from curator_core.errors import CuratorError
from curator_core.io.filesystems import join
from curator_core.io.statistics import read_summary
from curator_core.model.formatting import count, counted, duration, figure, share, shortened, size
from curator_core.model.node_usage import NodeUsage
from curator_core.run.directory import RunDirectory
from curator_core.run.result import REPORT
from curator_core.run.totals import totals_of

from curator_report.bottleneck import ReportedBottleneck, bottleneck_of
from curator_report.comparison import Comparison, compare_with_previous
from curator_report.distributions import Distributions, distributions
from curator_report.failures import Failure, drop_reasons, group_failures, place_of
from curator_report.history import slowest_first
from curator_report.html import render_page
from curator_report.overview import TotalCard, overview_facts, total_cards, utc
from curator_report.run_record import RunRecord, read_run
from curator_report.samples import (
    Samples,
    changed_records,
    dropped_records,
    in_order,
    kept_records,
)
from curator_report.scores import ScoreFigures, score_figures
from curator_report.sections import render_sections
from curator_report.stage_tables import Funnel, StageTables, funnel, stage_tables
from curator_report.statistics import ColumnFigures, column_figures
from curator_report.summary import Summary, next_command
from curator_report.timelines import TimePlot, timelines

MOST_BYTES = 1_900_000
_LONGEST = 4000
_MOST_ROWS = 200
_MOST_FAILURES = 60
"""Limits that keep the page readable and below 2 MB; the run directory has everything."""


def report_path(run_dir: str) -> str:
    return join(run_dir, REPORT)


def write_report(run_dir: str) -> str:
    """Write the page into the run directory and return its path."""
    text = render(read_run(run_dir, in_short=True))
    RunDirectory(run_dir).put(REPORT, text.encode("utf-8", "replace"))
    return report_path(run_dir)


def render(record: RunRecord) -> str:
    """Return the whole page. Text from data is escaped, and secrets are masked."""
    run = page_data(record)
    page = render_page("run", title=record.name, run=run, sections=[])
    sections = render_sections(record, MOST_BYTES - len(page.encode("utf-8", "replace")))
    if not sections:
        return page
    return render_page("run", title=record.name, run=run, sections=sections)


_LEAST_PLOTTED_S = 10.0

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
    description: str
    cards: Sequence[TotalCard]
    facts: Rows
    command: str
    purpose: str
    funnel: Funnel | None
    drops: Rows
    drops_hidden: int
    failures: Sequence[FailureGroup]
    failures_hidden: int
    distributions: Distributions
    scores: ScoreFigures
    kept: Samples
    dropped: Samples
    changed: Samples
    data: Sequence[ColumnFigures]
    data_problem: str
    bottleneck: ReportedBottleneck | None
    stages: StageTables
    timelines: Sequence[TimePlot]
    models: Rows
    metrics: Rows
    nodes: Rows
    slowest: Rows
    comparison: Comparison | None
    files: Rows
    environment: Rows
    record_name: str = "record"


def page_data(record: RunRecord) -> PageData:
    """Compute the contents of the page, without the sections of other packages."""
    result = record.result
    samples = in_order(record.history.samples, result.stages)
    drops = _drops(result.stages)
    failures = group_failures(result.quarantined)
    command, purpose = next_command(record)
    data, problem = _data(record.statistics)
    totals = totals_of(result.stages)
    names = record.facts.get("records") or ()
    return PageData(
        kind=_kind(record),
        verdict=describe_state(record),
        description=str(record.facts.get("description") or ""),
        cards=total_cards(result.stages, names),
        facts=_facts(record),
        command=command,
        purpose=purpose,
        funnel=funnel(result.stages),
        drops=drops[:_MOST_ROWS],
        drops_hidden=max(0, len(drops) - _MOST_ROWS),
        failures=[_failure(failure) for failure in failures[:_MOST_FAILURES]],
        failures_hidden=max(0, len(failures) - _MOST_FAILURES),
        distributions=distributions(totals),
        scores=score_figures(result.stages, record.facts.get("plan", [])),
        kept=kept_records(samples),
        dropped=dropped_records(samples),
        changed=changed_records(samples),
        data=data,
        data_problem=problem,
        bottleneck=_bottleneck(record),
        stages=stage_tables(result.stages, result.usages, _fused(record)),
        timelines=_timelines(record),
        models=_models(result.stages)[:_MOST_ROWS],
        metrics=_metrics(result.stages)[:_MOST_ROWS],
        nodes=[_node(name, usage) for name, usage in result.nodes.items()][:_MOST_ROWS],
        slowest=_slowest(record),
        comparison=compare_with_previous(record),
        files=_files(record)[:_MOST_ROWS],
        environment=list(_environment(record)),
        record_name=names[-1] if names else "record",
    )


def _kind(record: RunRecord) -> str:
    if record.state == "done" and record.result.kept_nothing:
        return "warning"
    return {"done": "good", "running": "going"}.get(record.state, "bad")


def _steps(record: RunRecord) -> list[list[str]]:
    """Return the names of the stages that ran in one pass, for each pass."""
    plan = record.facts.get("plan", [])
    steps: list[list[str]] = record.facts.get("steps") or [[str(one["name"])] for one in plan]
    return steps


def _fused(record: RunRecord) -> list[str]:
    return [name for step in _steps(record) for name in step[1:]]


def _step_names(record: RunRecord) -> dict[str, str]:
    """Return what to call each pass, by the name of its first stage."""
    return {
        first: f"{first} and {counted(len(others), 'more stage')} in one pass" if others else first
        for first, *others in _steps(record)
    }


def _worker_steps(record: RunRecord) -> list[str]:
    """Return the passes that snapshots are about: without the first stage if it lists sources."""
    names = list(_step_names(record).values())
    points = record.history.points
    observed = points[-1][1]["stages"] if points else []
    return names[len(names) - len(observed) :]


def _timelines(record: RunRecord) -> Sequence[TimePlot]:
    """Return the plots over time; those of a short run show only its start and its end."""
    if record.result.seconds < _LEAST_PLOTTED_S:
        return ()
    return timelines(record.history, _worker_steps(record))


def _bottleneck(record: RunRecord) -> ReportedBottleneck | None:
    needs = record.facts.get("needs", {})
    found = bottleneck_of(record.result.usages, needs, record.history.diagnosis)
    if found is None:
        return None
    return replace(found, name=_step_names(record).get(found.name, found.name))


def _slowest(record: RunRecord) -> Rows:
    return [
        [shortened(slow.label, 200), duration(slow.seconds)]
        for slow in slowest_first(record.history)
        if slow.label and slow.seconds >= 0.1
    ]


_ELSEWHERE = ("files", "dropped", "report")


def _facts(record: RunRecord) -> Rows:
    """Return the facts below the totals; the bottleneck has its own section."""
    evidence = record.history.diagnosis.get("evidence")
    account = Summary(record.name, record.result).account()
    return [*overview_facts(record)] + [
        (label, text)
        for label, text in account
        if label not in _ELSEWHERE and not (evidence and evidence in text)
    ]


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
         share(items, stages[stage].items_received)]
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
        "ended": utc(facts.get("ended")),
        "retries": _retries(facts),
        "Python": facts.get("python"),
        "packages": packages,
        "run directory": record.path,
    }
    return ((name, str(value)) for name, value in rows.items() if value)


def _retries(facts: dict[str, Any]) -> str:
    times = facts.get("retries")
    return f"{times}, the last on {utc(facts.get('retried'))}" if times else ""
