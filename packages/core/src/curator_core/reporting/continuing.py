"""Continuing: the command with which one goes on from a run, as it was typed."""

import shlex
from collections.abc import Sequence

from curator_core.filesystems import base_name
from curator_core.reporting.directories import RunRecord
from curator_core.results import RunResult

_ONLY_ONCE = frozenset({"--no-resume", "--prune", "--yes"})


def same_command(command: Sequence[object]) -> str:
    """What to type to have it run again; nothing where it was no command that can be typed."""
    words = [str(word) for word in command if word not in _ONLY_ONCE]
    if not words or words[0] in ("", "-c", "-m"):
        return ""
    if words[0].endswith(".py"):
        return shlex.join(["python", *words])
    return shlex.join([base_name(words[0]), *words[1:]])


def next_step(record: RunRecord) -> tuple[str, str]:
    """What to type now, and what that does."""
    command = same_command(record.facts.get("command") or ()) or "the same call again"
    if record.state == "running":
        return f"curate status {shlex.quote(record.path)} --watch", "shows how far it is"
    if record.result.status != "done":
        return command, "goes on from here"
    if _can_be_retried(record.result):
        return f"curate retry {shlex.quote(record.path)}", "tries again what is in quarantine"
    return command, "does what is new, once there is more input"


def _can_be_retried(result: RunResult) -> bool:
    return any(record.whole_task for record in result.quarantined)
