"""Stages of a run as a page shows them: a funnel, and a table of what each did and took."""

from collections.abc import Mapping, Sequence
from html import escape

from curator_core.reporting.figures import count, duration, rate, share, size
from curator_core.reporting.fragments import figures_table
from curator_core.results import StageCounts
from curator_core.usages import Usage

_MOST_OPEN = 40
"""Of more stages the rest is folded away."""

_MOST_IN_FUNNEL = 24
_NONE = Usage()

Stages = Mapping[str, StageCounts]


def funnel(stages: Stages, *, wrote: bool) -> str:
    """How much went into each stage that kept something back, and how much was left at the end.

    The last stage of a run that wrote files takes records and gives files.
    """
    names = [name for name, counts in stages.items() if _kept_back(counts)]
    if not names:
        return ""
    hidden = len(names) - _MOST_IN_FUNNEL
    if hidden > 0:
        most = sorted(names, key=lambda name: -_kept_back(stages[name]))[:_MOST_IN_FUNNEL]
        names = [name for name in names if name in set(most)]
    given = max(_given(counts) for counts in stages.values()) or 1
    rows = [_bar(name, _given(stages[name]), given) for name in names]
    *_, last = stages.values()
    left = last.items_in - _kept_back(last) if wrote else last.items_out
    rows.append(_bar("left at the end", left, given))
    note = f"<p>{count(hidden)} more stages kept less back.</p>" if hidden > 0 else ""
    return f'<div class="funnel">{"".join(rows)}</div>{note}'


def _bar(name: str, items: int, of: int) -> str:
    part = share(items, of)
    return (
        f"<p><span>{escape(name)}</span><span>{count(items)} <small>{part}</small></span>"
        f'<b><i style="width:{100 * items / of:.2f}%"></i></b></p>'
    )


def _given(counts: StageCounts) -> int:
    """What it had to do with: a reader takes files and gives records."""
    return max(counts.items_in, counts.items_out + _kept_back(counts))


def _kept_back(counts: StageCounts) -> int:
    return counts.items_dropped + counts.items_failed + counts.items_rejected


HEAD = ("stage", "in", "out", "dropped", "failed", "retried", "time in it", "records/s",
        "50 %", "95 %", "longest", "CPU", "memory", "crashed")  # fmt: skip


def stage_tables(stages: Stages, usages: Mapping[str, Usage], seconds: float) -> str:
    """All of them, and those that tell the most in front where there are many."""
    most = max((counts.seconds for counts in stages.values()), default=0.0)

    def table(names: Sequence[str]) -> str:
        rows = (_row(name, stages[name], usages.get(name, _NONE), seconds, most) for name in names)
        return figures_table(HEAD, rows)

    if len(stages) <= _MOST_OPEN:
        return table(list(stages))
    telling = sorted(stages, key=lambda n: (-_kept_back(stages[n]), -stages[n].seconds))
    chosen = set(telling[: _MOST_OPEN // 2])
    chosen |= set(sorted(stages, key=lambda n: -stages[n].seconds)[: _MOST_OPEN // 2])
    return (
        f"<p>Those of {count(len(stages))} stages that took longest or kept most back.</p>"
        f"{table([name for name in stages if name in chosen])}"
        f"<details><summary>all {count(len(stages))} stages</summary>"
        f"{table(list(stages))}</details>"
    )


def _row(name: str, counts: StageCounts, usage: Usage, seconds: float, most: float) -> list[str]:
    failed = counts.items_failed + counts.items_rejected
    took = duration(counts.seconds)
    times = [usage.quantile(0.5), usage.quantile(0.95), usage.longest_s] if usage.tasks else []
    return [
        escape(name),
        *map(count, (counts.items_in, counts.items_out, counts.items_dropped, failed)),
        count(counts.tasks_retried),
        f"<b>{took}</b>" if counts.seconds == most > 0 else took,
        rate(_given(counts) / seconds) if seconds else "",
        *(_short(one) for one in times or (0.0, 0.0, 0.0)),
        share(round(1000 * usage.cpu_s), round(1000 * usage.seconds)) if usage.seconds else "",
        size(usage.rss_bytes) if usage.rss_bytes else "",
        count(usage.crashes + usage.timeouts),
    ]


def _short(seconds: float) -> str:
    if not seconds:
        return ""
    return f"{1000 * seconds:,.3g} ms" if seconds < 1 else duration(seconds)
