"""Next steps: what to type or call after a run."""

import shlex
from collections.abc import Sequence

from curator_core.io.filesystems import base_name, join, open_filesystem, parent_of
from curator_core.reporting.directories import RunRecord
from curator_core.run.result import RunResult

_ONLY_ONCE = frozenset({"--no-resume", "--prune", "--yes"})


def same_command(command: Sequence[object]) -> str:
    """Return the command that runs it again, or "" if it was not started by a command."""
    words = [str(word) for word in command if word not in _ONLY_ONCE]
    if not words or words[0] in ("", "-c", "-m"):
        return ""
    if words[0].endswith(".py"):
        return shlex.join(["python", *words])
    return shlex.join([base_name(words[0]), *words[1:]])


def next_step(record: RunRecord) -> tuple[str, str]:
    """Return the next command, and what it does."""
    command = same_command(record.facts.get("command") or ()) or "the same call again"
    if record.state == "running":
        return f"curate status {shlex.quote(record.path)} --watch", "shows how far it is"
    is_retry = "status_before" in record.facts  # a retry that was killed
    if record.result.status == "done" or is_retry:
        if is_worth_retrying(record.result):
            return retry_command(record.path) or command, "tries again what is in quarantine"
        return command, "does what is new, once there is more input"
    return command, goes_on(record.result)


def goes_on(result: RunResult) -> str:
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
    if base_name(parent_of(parent_of(run_dir))) == ".curator":
        return ""
    if _has_recipe(run_dir):
        return f"curate retry {shlex.quote(run_dir)}"
    return f"pipeline.retry({run_dir!r})"


def _has_recipe(run_dir: str) -> bool:
    try:
        fs, root = open_filesystem(run_dir)
        return bool(fs.exists(join(root, "recipe.yaml")))
    except Exception:  # noqa: BLE001 - a hint must not fail, whatever the file system raises
        return False
