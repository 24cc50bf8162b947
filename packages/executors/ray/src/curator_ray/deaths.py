"""Deaths of workers: what Ray says and what the post tells, as one reason that can be counted."""

import re
from dataclasses import dataclass, replace

from curator_core.local.shared_status import StageStatus
from curator_core.model.crash_attribution import OUTSIDE_KILL_WEIGHT

from curator_ray.posts import LEFT, LastWords

_FATAL = "Fatal Python error: "
_OUT_OF_MEMORY = ("running low on memory", "memory usage threshold")

_NODE_IS_GONE = ("ActorUnschedulableError", "NodeDiedError", "its node has died")
"""Ray may know it a moment before it takes the node off its list."""

_DIED = "died"
_WHY = re.compile(r"is dead because (?:its worker process has died\..*?Worker exit detail: )?(.+)")
_COMMON_CAUSES = " Some common causes include"
_NO_EXPLANATION = "connection error code 2"
"""All that Ray sees of a SIGKILL."""


@dataclass(frozen=True)
class Death:
    """Why a worker is gone, and what it was at."""

    reason: str
    note: StageStatus | None = None
    detail: str = ""
    """Where it hung or crashed, or the end of its log: for a message, not for counting."""

    output: str = ""
    """What it printed and had not told yet."""

    @property
    def told(self) -> str:
        """Ray does not know how a process ended; only what leaves no trace at all remains."""
        return "died without a word, as by SIGKILL" if self.reason == _DIED else self.reason

    @property
    def weight(self) -> float:
        """What it counts against the task that was in hand: whoever sends SIGKILL leaves no trace,
        and an innocent task may be there each time."""
        return OUTSIDE_KILL_WEIGHT if self.reason.startswith(_DIED) else 1.0


def is_death(error: Exception) -> bool:
    """Whether Ray says with it that a worker is gone, or never came. Not all have one parent."""
    from ray import exceptions

    kinds = (
        exceptions.RayActorError,
        exceptions.ActorUnschedulableError,
        exceptions.NodeDiedError,
        exceptions.OutOfMemoryError,
        exceptions.RuntimeEnvSetupError,
        exceptions.WorkerCrashedError,
    )
    return isinstance(error, kinds)


def death_from(words: LastWords | None, error: Exception, *, node_is_alive: bool) -> Death:
    """`error` is what Ray raised for a call of the worker."""
    death = _explained(words, error, node_is_alive=node_is_alive)
    return replace(death, output=words.output) if words else death


def _explained(words: LastWords | None, error: Exception, *, node_is_alive: bool) -> Death:
    said = f"{type(error).__name__}: {error}"
    if not node_is_alive or any(word in said for word in _NODE_IS_GONE):
        return Death("was on a node that is gone", words.note if words else None)
    if "RuntimeEnvSetupError" in said:
        return Death(f"could not get its runtime_env; Ray says: {last_line(said)}", detail=said)
    out_of_memory = "OutOfMemoryError" in said or any(word in said for word in _OUT_OF_MEMORY)
    if words is None:
        return Death("ran out of memory" if out_of_memory else _died(rays_words(said)), detail=said)
    if words.trace.startswith("Timeout "):
        reason = words.note.kill_reason if words.note else "took longer than its timeout_s"
        return Death(reason, words.note, words.trace)
    if words.trace.startswith(LEFT):
        return Death(words.trace.splitlines()[0], words.note, words.log)
    if out_of_memory or words.ran_out_of_memory:
        return Death("ran out of memory", words.note, said)
    if words.trace.startswith(_FATAL):
        first = words.trace.splitlines()[0].removeprefix(_FATAL)
        return Death(f"crashed: {first}", words.note, words.trace)
    told = rays_words(said)
    return Death(_died("" if _NO_EXPLANATION in told else told), words.note, words.log)


def _died(explanation: str) -> str:
    return f"{_DIED}; Ray says: {explanation}" if explanation else _DIED


def rays_words(said: str) -> str:
    """What Ray has to say of one death in particular, in one line; empty where that is nothing."""
    if "in its creation task" in said:
        return last_line(said)
    found = _WHY.search(said)
    return found[1].partition(_COMMON_CAUSES)[0].strip().rstrip(".") if found else ""


def last_line(said: str) -> str:
    """Where the traceback that Ray passes on has its error."""
    return said.strip().splitlines()[-1].strip()
