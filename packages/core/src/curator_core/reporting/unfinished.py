"""Page about a workflow that did not finish: what is done, what failed, and how to resume."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from curator_core.io.filesystems import base_name, join, open_filesystem
from curator_core.reporting.continuing import same_command
from curator_core.reporting.directories import RunRecord, read_run
from curator_core.reporting.figures import count, counted, duration
from curator_core.reporting.fragments import figures_table, page, section
from curator_core.reporting.pages import write_report
from curator_core.reporting.reasons import failures_of
from curator_core.run.result import RunResult

FILE = "unfinished.html"

_MOST_FAILURES = 10


def write_unfinished(
    name: str,
    done: Mapping[str, RunResult],
    error: BaseException,
    folder: str,
    storage_options: dict[str, Any],
) -> str | None:
    """Write the page into the work directory and return its path.

    Returns None if no pipeline had started, or if the page cannot be written.
    """
    try:
        ended = _ended(join(folder, ".curator", name), done)
        if ended is None and not done:
            return None
        told = None if ended is None else _Ended(ended, _run_page(ended, folder))
        fs, root = open_filesystem(folder, storage_options)
        text = _page(name, done, told, error)
        fs.pipe_file(join(root, FILE), text.encode("utf-8", "replace"))
    except Exception:  # noqa: BLE001 - the page must not hide the actual error
        return None
    return join(folder, FILE)


def remove_unfinished(folder: str, storage_options: dict[str, Any]) -> None:
    """Delete the page, which is out of date."""
    fs, root = open_filesystem(folder, storage_options)
    if fs.exists(join(root, FILE)):
        fs.rm(join(root, FILE))


def _ended(home: str, done: Mapping[str, RunResult]) -> RunRecord | None:
    """Return the latest run that started but is not done."""
    fs, root = open_filesystem(home)
    if not fs.isdir(root):
        return None
    names = [base_name(str(entry).rstrip("/")) for entry in fs.ls(root, detail=False)]
    begun = [name for name in names if name not in done and fs.exists(join(root, name, "run.json"))]
    records = [read_run(join(home, name)) for name in begun]
    left = [record for record in records if record.result.status != "done"]
    return max(left, key=lambda record: float(record.facts.get("started") or 0), default=None)


@dataclass(frozen=True)
class _Ended:
    """The run in which the workflow ended, and the relative link to its page."""

    record: RunRecord
    link: str


def _run_page(ended: RunRecord, folder: str) -> str:
    return write_report(ended.path).removeprefix(folder.rstrip("/") + "/")


def _page(
    name: str, done: Mapping[str, RunResult], ended: _Ended | None, error: BaseException
) -> str:
    where = f" in {ended.record.name}," if ended else ""
    told = f"{name} ended{where} before it was done"
    parts = [
        f'<h1>{escape(name)}</h1><p class="bad">{escape(told)}</p>',
        f"<pre>{escape(str(error) or type(error).__name__)}</pre>",
        section("What is done", _pipelines(done, ended)),
        section("What failed", _failures(ended.record) if ended else ""),
        section("How to go on", _next(ended.record if ended else None)),
    ]
    return page(f"{name}: unfinished", "".join(parts))


def _pipelines(done: Mapping[str, RunResult], ended: _Ended | None) -> str:
    rows = [_row(escape(name), "done", result) for name, result in done.items()]
    if ended is not None:
        name = f'<a href="{escape(ended.link)}">{escape(ended.record.name)}</a>'
        rows.append(_row(name, "ended here", ended.record.result))
    return figures_table(("pipeline", "", "sources done", "done before", "time", "files"), rows)


def _row(name: str, state: str, result: RunResult) -> list[str]:
    numbers = (result.sources_done, result.sources_skipped)
    return [name, state, *map(count, numbers), duration(result.seconds), count(len(result.files))]


def _failures(ended: RunRecord) -> str:
    failures = failures_of(ended.result.quarantined)
    items = [f"<li>{escape(f'{one.items:,} in {one.stage}: {one.told}')}</li>" for one in failures]
    more = len(items) - _MOST_FAILURES
    rest = f"<li>{counted(more, 'more reason')}</li>" if more > 0 else ""
    return f"<ul>{''.join(items[:_MOST_FAILURES])}{rest}</ul>" if items else ""


def _next(ended: RunRecord | None) -> str:
    told = (
        "<p>Run the same command again, once the cause is mended if there was one: what is done is "
        "not done again.</p>"
    )
    command = same_command(ended.facts.get("command") or ()) if ended else ""
    return f"{told}<pre>{escape(command)}</pre>" if command else told
