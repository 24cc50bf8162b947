"""The report of a run as one HTML file, which needs nothing else and no network."""

import time
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

from curator_core.errors import CuratorError
from curator_core.filesystems import join, open_filesystem, parent_of
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.figures import count, duration, share, shortened
from curator_core.reporting.fragments import facts_table, figures_table, page, section
from curator_core.reporting.reasons import Failure, drop_reasons, failures_of
from curator_core.reporting.statistics import as_html
from curator_core.reporting.summaries import Summary
from curator_core.results import QuarantineRecord, StageCounts
from curator_core.statistics.summaries import FILE_ENDING, read_summary

FILE = "report.html"
_LONGEST = 4000


def report_path(run_dir: str) -> str:
    return join(run_dir, FILE)


def write_report(run_dir: str) -> str:
    """Write the page into the run directory; where it is."""
    page = render(read_run(run_dir)).encode("utf-8", "replace")
    fs, root = open_filesystem(run_dir)
    fs.pipe_file(join(root, FILE), page)
    return report_path(run_dir)


def render(record: RunRecord) -> str:
    """The whole page. Whatever comes from data is escaped, and secrets are struck out."""
    result = record.result
    failures = failures_of(result.quarantined)
    parts = [
        _head(record),
        section("Stages", _stages(result.stages)),
        section("Dropped, by reason", _drops(result.stages)),
        section("Data", _data(result.files)),
        section("Quarantine", "".join(_failure(failure) for failure in failures)),
        section("Files", _files(result.files)),
        section("Environment", _environment(record)),
    ]
    return page(record.name, "".join(parts))


def _head(record: RunRecord) -> str:
    summary = Summary(record.name, record.result)
    good = record.result.status == "done"
    verdict = f'<p class="{"good" if good else "bad"}">{escape(verdict_of(record))}</p>'
    rows = [row for row in summary.lines() if row[0] not in ("files", "report")]
    return f"<h1>{escape(record.name)}</h1>{verdict}{facts_table(rows)}"


def verdict_of(record: RunRecord) -> str:
    """How the run stands; one that was killed could not say so itself."""
    if record.state == "dead":
        return (
            f"{record.name} was killed: its process is gone, and "
            f"{count(record.result.sources_done)} sources are done and kept"
        )
    return Summary(record.name, record.result).verdict()


def _stages(stages: dict[str, StageCounts]) -> str:
    head = ("stage", "in", "out", "dropped", "failed", "retried", "time in it", "kept back")
    most = max((c.seconds for c in stages.values()), default=0.0)
    return figures_table(head, (_stage(name, counts, most) for name, counts in stages.items()))


def _stage(name: str, counts: StageCounts, most_seconds: float) -> list[str]:
    failed = counts.items_failed + counts.items_rejected
    slowest = counts.seconds == most_seconds and most_seconds > 0
    seconds = duration(counts.seconds)
    back = counts.items_dropped + failed
    given = max(counts.items_in, counts.items_out + back)  # a reader takes files and gives records
    percent = 100 * back / given if given else 0.0
    return [
        escape(name),
        *map(count, (counts.items_in, counts.items_out, counts.items_dropped, failed)),
        count(counts.tasks_retried),
        f"<b>{seconds}</b>" if slowest else seconds,
        f'<span class="bar"><i style="width:{percent:.1f}%"></i></span>',
    ]


def _drops(stages: dict[str, StageCounts]) -> str:
    rows = [
        [f"{escape(stage)}: {escape(reason)}", count(items), share(items, stages[stage].items_in)]
        for stage, reason, items in drop_reasons(stages)
    ]
    return figures_table(("stage and reason", "dropped", "of what it got"), rows)


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
    places = [place for place in (record.source, record.where) if place]
    attempts = f" ({record.attempts} attempts)" if record.attempts > 1 else ""
    return (", ".join(dict.fromkeys(places)) or record.task_id) + attempts


def _sample(record: QuarantineRecord) -> str:
    """The first bytes of what was refused, where those are text."""
    if not record.payload or record.whole_task:
        return ""
    text = shortened(record.payload[:1000].decode("utf-8", "replace"), 300)
    return f"<pre>{escape(text)}</pre>"


def _data(files: Sequence[str]) -> str:
    """What stages found out about the data; a file that is gone since is no reason for no page."""
    collected = [file for file in files if file.endswith(FILE_ENDING)]
    try:
        return as_html(read_summary(collected))
    except (CuratorError, OSError) as error:
        return f"<p>{escape(str(error))}</p>"


def _files(files: Sequence[str]) -> str:
    folders = Counter(parent_of(file) for file in files).most_common()
    rows = [[escape(folder), count(number)] for folder, number in folders]
    return figures_table(("folder", "files"), rows)


def _environment(record: RunRecord) -> str:
    facts = record.facts
    packages = ", ".join(f"{n} {v}" for n, v in facts.get("packages", {}).items())
    rows = {
        "executor": facts.get("executor"),
        "started": _time(facts.get("started")),
        "ended": _time(facts.get("ended")),
        "Python": facts.get("python"),
        "packages": packages,
        "command": " ".join(map(str, facts.get("command", ()))),
        "run directory": record.path,
    }
    return facts_table((name, str(value)) for name, value in rows.items() if value)


def _time(seconds: Any) -> str:
    if not isinstance(seconds, int | float):
        return ""
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
