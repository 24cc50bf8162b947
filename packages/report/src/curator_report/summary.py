"""Closing summaries: counts, files, problems and the next command of a run."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_core import RunResult
from curator_core.io.filesystems import base_name, join, open_filesystem, parent_of
from curator_core.model.formatting import (
    count,
    counted,
    duration,
    estimate,
    share,
    shortened,
    size,
)
from curator_core.model.secrets import redact

from curator_report.failures import group_failures
from curator_report.run_record import RunRecord
from curator_report.tables import stage_table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_FAILURES = 3
MOST_FOLDERS = 3
_LABEL = 12


@dataclass(frozen=True)
class Summary:
    """The summary of a run that has ended."""

    name: str
    result: RunResult
    report: str | None = None
    headline: str = ""

    @property
    def is_repetition(self) -> bool:
        """Return whether everything was already done before this run started."""
        result = self.result
        return result.status == "done" and not result.sources_done and result.sources_skipped > 0

    def verdict(self) -> str:
        """Return how the run ended, in one sentence."""
        result = self.result
        if self.headline:
            return self.headline
        if result.kept_nothing and result.status == "done":
            return f"{self.name} kept nothing: every record was dropped"
        if self.is_repetition:
            sources = counted(result.sources_skipped, "source")
            return f"{self.name} is finished already: nothing to do ({sources} done before)"
        done = counted(result.sources_done, "source")
        ended = _ENDINGS.get(result.status, result.status)
        earlier = (
            f" ({count(result.sources_skipped)} done before)" if result.sources_skipped else ""
        )
        return f"{self.name} {ended}: {done} in {duration(result.seconds)}{earlier}"

    def kept(self) -> list[tuple[str, str]]:
        """Return a line with the totals before and after the run."""
        read, written = self.result.totals.read, self.result.totals.written
        if not read.records:
            return []
        of = counted(read.records, "record")
        if written.records > read.records:  # such as clips of a video
            parts = [f"{count(written.records)} made of {of}"]
        else:
            kept = share(written.records, read.records)
            parts = [f"{count(written.records)} of {of} ({kept})"]
        if written.words:
            before = f"of {estimate(read.words)} " if read.words else ""
            parts.append(f"about {estimate(written.words)} {before}words")
        if written.playing_ms:
            known = [one.playing_ms for one in (written, read) if one.playing_ms]
            parts.append(" of ".join(duration(time_ms / 1000) for time_ms in known))
        if written.num_bytes and read.num_bytes:
            parts.append(f"{size(written.num_bytes)} of {size(read.num_bytes)}")
        return [("kept", "; ".join(parts))]

    def lines(self) -> list[tuple[str, str]]:
        """Return the lines below the table, each a label and a text."""
        return [*self.account(), *self.following()]

    def account(self) -> list[tuple[str, str]]:
        """Return the lines about the results."""
        return [*self._quarantine(), *self._files(), *self._others()]

    def _quarantine(self) -> list[tuple[str, str]]:
        failures = group_failures(self.result.quarantined)
        if not failures:
            return []
        where = f", stored in {self.result.run_dir}/quarantine" if self.result.run_dir else ""
        lines = [("quarantined", f"{sum(f.items for f in failures):,}{where}")]
        for failure in failures[:MOST_FAILURES]:
            text = f"{count(failure.items)} in {failure.stage}: {failure.message}"
            lines.append(("", shortened(text, 300)))
        if len(failures) > MOST_FAILURES:
            lines.append(("", f"… {counted(len(failures) - MOST_FAILURES, 'more reason')}"))
        return lines

    def _files(self) -> list[tuple[str, str]]:
        if self.result.run_dir is None:
            return [("note", "nothing was written: none of the stages writes files")]
        dropped = _folders("dropped", self.result.dropped_files)
        return [*_folders("files", self.result.files), *dropped]

    def _others(self) -> list[tuple[str, str]]:
        restarts = [
            f"{counted(times, 'time')} a worker {reason} and was replaced"
            for reason, times in self.result.worker_restarts.items()
        ]
        lines = [("workers", text) for text in restarts]
        lines += [("note", note) for note in self.result.notes]
        return lines + ([("report", self.report)] if self.report else [])

    def following(self) -> list[tuple[str, str]]:
        """Return the lines about what to do next."""
        run_dir = self.result.run_dir
        if not run_dir:
            return []
        retry = retry_command(run_dir) if is_worth_retrying(self.result) else ""
        if self.result.status == "done":
            return [("next", retry)] if retry else []
        lines = [("next", f"run the same command again: it {describe_resume(self.result)}")]
        return lines + ([("", f"{retry}: retries what is in quarantine")] if retry else [])


def _folders(label: str, files: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the number of files in each folder."""
    folders = Counter(map(parent_of, files)).most_common()
    texts = [f"{counted(number, 'file')} in {folder}" for folder, number in folders[:MOST_FOLDERS]]
    if len(folders) > MOST_FOLDERS:
        texts.append(f"… {counted(len(folders) - MOST_FOLDERS, 'more folder')}")
    for at, text in enumerate(texts):
        yield (label if not at else "", text)


_ENDINGS = {
    "done": "is done",
    "failed": "failed",
    "interrupted": "was interrupted",
    "closed": "was stopped",
    "running": "is not finished",
}


def print_summary(console: "Console", summary: Summary) -> None:
    """Print the verdict, the table of stages unless nothing was done, and the other lines."""
    from rich.text import Text

    style = "green" if summary.result.status == "done" else "red"
    if summary.result.kept_nothing:
        style = "yellow"
    console.print(Text(summary.verdict(), style=f"bold {style}"))
    if not summary.is_repetition:
        console.print()
        console.print(
            stage_table(summary.result.stages, group_failures(summary.result.quarantined))
        )
        console.print()
    lines = summary.lines() if summary.is_repetition else [*summary.kept(), *summary.lines()]
    if lines:
        console.print(details(lines))


def details(lines: Iterable[tuple[str, str]]) -> "Table":
    """Return labels and texts in two columns."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(min_width=_LABEL, no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in lines:
        grid.add_row(Text(label, style="bold"), Text(text))
    return grid


_ONLY_ONCE = frozenset({"--no-resume", "--prune", "--yes"})


def same_command(command: Sequence[object]) -> str:
    """Return the command that runs it again, or "" if it was not started by a command."""
    return shown_command([word for word in command if word not in _ONLY_ONCE])


def shown_command(command: Sequence[object]) -> str:
    """Return the command as a user types it, or "" if there was none."""
    words = [redact(str(word)) for word in command]  # unrecognizable once they are quoted
    if not words or words[0] in ("", "-c", "-m"):
        return ""
    if words[0].endswith(".py"):
        return shlex.join(["python", *words])
    return shlex.join([base_name(words[0]), *words[1:]])


def next_command(record: RunRecord) -> tuple[str, str]:
    """Return the next command, and what it does."""
    command = same_command(record.facts.get("command") or ()) or "the same call again"
    if record.state == "running":
        return f"curate status {shlex.quote(record.path)} --watch", "shows how far it is"
    is_retry = "status_before" in record.facts  # a retry that was killed
    if record.result.status == "done" or is_retry:
        if is_worth_retrying(record.result):
            return retry_command(record.path) or command, "retries what is in quarantine"
        return command, "processes new input"
    return command, describe_resume(record.result)


def describe_resume(result: RunResult) -> str:
    """Return what running the same command again does, after a run that is not done."""
    if result.is_complete and result.quarantined and not is_worth_retrying(result):
        return "reads quarantined files again once you have fixed them"
    return "resumes the run"


def is_worth_retrying(result: RunResult) -> bool:
    """Return whether anything in quarantine may succeed on a retry."""
    return any(record.is_worth_retrying for record in result.quarantined)


def retry_command(run_dir: str) -> str:
    """Return the command that retries a run, or the call if the run was not made from a recipe.

    Returns "" for a run of a workflow, which retries its failures when it is run again.
    """
    if workflow_folder(run_dir):
        return ""
    if _has_recipe(run_dir):
        return f"curate retry {shlex.quote(run_dir)}"
    return f"pipeline.retry({run_dir!r})"


def workflow_folder(run_dir: str) -> str:
    """Return the work directory of the workflow that a run belongs to; "" for other runs."""
    above = parent_of(parent_of(run_dir))
    return parent_of(above) if base_name(above) == ".curator" else ""


def _has_recipe(run_dir: str) -> bool:
    try:
        fs, root = open_filesystem(run_dir)
        return bool(fs.exists(join(root, "recipe.yaml")))
    except Exception:  # noqa: BLE001 - a hint must not fail, whatever the file system raises
        return False
