"""Page about a workflow that did not finish: what is done, what failed, and how to resume."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from curator_core import RunResult
from curator_core.io.filesystems import StorageOptions, base_name, join, open_filesystem
from curator_core.model.formatting import count, duration

from curator_report.failures import group_failures
from curator_report.html import render_page
from curator_report.page import write_report
from curator_report.run_record import RunRecord, read_run
from curator_report.summary import same_command

FILE = "unfinished.html"

_MOST_FAILURES = 10


def write_unfinished(
    name: str,
    done: Mapping[str, RunResult],
    error: BaseException,
    folder: str,
    storage_options: StorageOptions,
) -> str | None:
    """Write the page into the work directory and return its path.

    Returns None if no pipeline had started, or if the page cannot be written.
    """
    try:
        ended = _ended(join(folder, ".curator", name), done)
        if ended is None and not done:
            return None
        link = _run_page(ended, folder) if ended else ""
        fs, root = open_filesystem(folder, storage_options)
        text = _page(name, done, ended, link, error)
        fs.pipe_file(join(root, FILE), text.encode("utf-8", "replace"))
    except Exception:  # noqa: BLE001 - the page must not hide the actual error
        return None
    return join(folder, FILE)


def remove_unfinished(folder: str, storage_options: StorageOptions) -> None:
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


def _run_page(ended: RunRecord, folder: str) -> str:
    """Write the page of the run in which the workflow ended, and return the relative link to it."""
    return write_report(ended.path).removeprefix(folder.rstrip("/") + "/")


@dataclass(frozen=True)
class PipelineRow:
    """One pipeline of the workflow, with a link to the page of its run if it did not finish."""

    name: str
    state: str
    figures: Sequence[str]
    link: str = ""


def _page(
    name: str,
    done: Mapping[str, RunResult],
    ended: RunRecord | None,
    link: str,
    error: BaseException,
) -> str:
    rows = [PipelineRow(one, "done", _figures(result)) for one, result in done.items()]
    failures = []
    if ended is not None:
        rows.append(PipelineRow(ended.name, "ended here", _figures(ended.result), link))
        failures = group_failures(ended.result.quarantined)
    return render_page(
        "unfinished",
        title=f"{name}: unfinished",
        name=name,
        ended=ended,
        error=str(error) or type(error).__name__,
        pipelines=rows,
        failures=failures[:_MOST_FAILURES],
        failures_hidden=max(0, len(failures) - _MOST_FAILURES),
        command=same_command(ended.facts.get("command") or ()) if ended else "",
    )


def _figures(result: RunResult) -> list[str]:
    numbers = (result.sources_done, result.sources_skipped)
    return [*map(count, numbers), duration(result.seconds), count(len(result.files))]
