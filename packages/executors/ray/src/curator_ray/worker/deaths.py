"""Why a worker died: one reason, from what Ray says and from the worker's own files."""

import re
from dataclasses import dataclass, replace

from curator_core.local.shared_status import StageStatus
from curator_core.model.crash_attribution import OUTSIDE_KILL_WEIGHT

from curator_ray.worker.status_files import EXIT_PREFIX, CrashReport

_FATAL = "Fatal Python error: "
_OUT_OF_MEMORY = ("running low on memory", "memory usage threshold")

_NODE_DIED = ("ActorUnschedulableError", "NodeDiedError", "its node has died")
"""Ray may raise one of these a moment before it marks the node as dead."""

NODE_LOST = "was on a node that was lost"
_DIED = "died"
_CAUSE = re.compile(
    r"is dead because (?:its worker process has died\..*?Worker exit detail: )?(.+)"
)
_COMMON_CAUSES = " Some common causes include"
_NO_EXPLANATION = "connection error code 2"
"""All that Ray says about a SIGKILL."""


@dataclass(frozen=True)
class WorkerDeath:
    """Why a worker died, and what it was doing."""

    reason: str
    status: StageStatus | None = None
    detail: str = ""
    """The stack where it hung or crashed, or the end of its log. Not for counting."""

    output: str = ""
    """What it printed and had not reported yet."""

    @property
    def message(self) -> str:
        """The reason as users see it. Only SIGKILL leaves neither a trace nor an explanation."""
        if self.reason == _DIED:
            return "died without an error message, probably by SIGKILL"
        return self.reason

    @property
    def is_node_lost(self) -> bool:
        """Whether it died with its node, so that no task is to blame."""
        return self.reason == NODE_LOST

    @property
    def weight(self) -> float:
        """How much it counts against the current task.

        A SIGKILL from outside leaves no trace either, and hits innocent tasks.
        """
        return OUTSIDE_KILL_WEIGHT if self.reason.startswith(_DIED) else 1.0


def is_worker_death(error: Exception) -> bool:
    """Whether this error of Ray means that a worker died or never started.

    These errors have no base class of their own.
    """
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


def explain_death(
    report: CrashReport | None, error: Exception, *, node_is_alive: bool
) -> WorkerDeath:
    """Combine a worker's files with the `error` that Ray raised for one of its calls."""
    death = _explain(report, error, node_is_alive=node_is_alive)
    return replace(death, output=report.output) if report else death


def _explain(report: CrashReport | None, error: Exception, *, node_is_alive: bool) -> WorkerDeath:
    text = f"{type(error).__name__}: {error}"
    if not node_is_alive or any(phrase in text for phrase in _NODE_DIED):
        return WorkerDeath(NODE_LOST, report.status if report else None)
    if "RuntimeEnvSetupError" in text:
        reason = f"could not get its runtime_env; Ray says: {last_line(text)}"
        return WorkerDeath(reason, detail=text)
    out_of_memory = "OutOfMemoryError" in text or any(phrase in text for phrase in _OUT_OF_MEMORY)
    if report is None:
        reason = "ran out of memory" if out_of_memory else _died(ray_explanation(text))
        return WorkerDeath(reason, detail=text)
    if report.trace.startswith("Timeout "):
        reason = report.status.kill_reason if report.status else "took longer than its timeout_s"
        return WorkerDeath(reason, report.status, report.trace)
    if report.trace.startswith(EXIT_PREFIX):
        return WorkerDeath(report.trace.splitlines()[0], report.status, report.log)
    if out_of_memory or report.ran_out_of_memory:
        return WorkerDeath("ran out of memory", report.status, text)
    if report.trace.startswith(_FATAL):
        first = report.trace.splitlines()[0].removeprefix(_FATAL)
        return WorkerDeath(f"crashed: {first}", report.status, report.trace)
    explanation = ray_explanation(text)
    reason = _died("" if _NO_EXPLANATION in explanation else explanation)
    return WorkerDeath(reason, report.status, report.log)


def _died(explanation: str) -> str:
    return f"{_DIED}; Ray says: {explanation}" if explanation else _DIED


def ray_explanation(text: str) -> str:
    """Extract in one line what Ray says about this death; empty if it says only generalities."""
    if "in its creation task" in text:
        return last_line(text)
    found = _CAUSE.search(text)
    return found[1].partition(_COMMON_CAUSES)[0].strip().rstrip(".") if found else ""


def last_line(text: str) -> str:
    """Return the last line, where a traceback that Ray passes on has its error."""
    return text.strip().splitlines()[-1].strip()
