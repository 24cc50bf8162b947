"""Telling: what the scheduler did, in lines for a terminal."""

from collections.abc import Iterator

from curator_streaming.scheduling.summaries import StepSummary, Summary

_WORTH_TELLING_S = 1.0


def progress(summary: Summary, workers: int) -> str:
    """How far each step is, in one line."""
    told = (f"{s.name}: {s.tasks:,} done, {s.waiting_tasks:,} wait" for s in summary.steps)
    return f"{', '.join(told)}; {_count(workers, 'worker')}"


def bottleneck(summary: Summary) -> str:
    """What held up the line, how that shows, and what would help."""
    return f"the bottleneck was {summary.bottleneck}: {summary.evidence}; {summary.advice}"


def lines_of(summary: Summary) -> Iterator[str]:
    """The closing words. A run of a moment needs none, nor does one that did nothing."""
    if summary.seconds < _WORTH_TELLING_S or not any(step.tasks for step in summary.steps):
        return
    for step in summary.steps:
        yield _step_line(step)
    if summary.shared_workers:
        yield _shared_line(summary)
    if summary.bottleneck:
        yield bottleneck(summary)
    else:
        yield f"no stage was a bottleneck: {summary.evidence}"


def _step_line(step: StepSummary) -> str:
    told = f"{step.name}: {_count(step.tasks, 'task')}"
    if step.tasks:
        told = f"{told}, {_seconds(step.seconds_per_task)} each"
    if step.is_dedicated and not step.workers:
        return f"{told}, none of the workers of its own came up"
    if not step.is_dedicated:
        return f"{told}, on shared workers, {100 * step.cpu_share:.0f} % of the CPUs"
    waits = _waits(
        step.there_s,
        (step.waited_for_input_s, "input"),
        (step.waited_for_room_s, "room behind it"),
        (step.waited_for_cpus_s, "CPUs"),
    )
    busy = 100 * min(1.0, step.busy_s / step.there_s) if step.there_s else 0.0
    set_up = f", {_seconds(step.setup_s)} to set up" if step.setup_s >= _WORTH_TELLING_S else ""
    own = f"{_count(step.workers, 'worker')} of its own{set_up}"
    return f"{told}, on {own}, at work {busy:.0f} %{waits}"


def _shared_line(summary: Summary) -> str:
    waits = _waits(
        summary.shared_there_s,
        (summary.shared_idle_s, "input"),
        (summary.shared_waited_for_room_s, "room behind them"),
        (summary.shared_waited_for_cpus_s, "CPUs"),
        (sum(s.setup_s for s in summary.steps if not s.is_dedicated), "stages to be set up"),
    )
    return f"{_count(summary.shared_workers, 'shared worker')}{waits or ' hardly ever waited'}"


def _waits(of_s: float, *waited: tuple[float, str]) -> str:
    """Shares of the time, without those that are next to nothing."""
    told = [
        f"{100 * seconds / of_s:.0f} % for {what}"
        for seconds, what in waited
        if of_s and seconds >= 0.01 * of_s
    ]
    return f", waited {', '.join(told)}" if told else ""


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _seconds(seconds: float) -> str:
    """In two figures, or all of those before the point."""
    number, unit = (seconds, "s") if seconds >= 1 else (1000 * seconds, "ms")
    return f"{number:,.0f} {unit}" if number >= 10 else f"{number:.2g} {unit}"
