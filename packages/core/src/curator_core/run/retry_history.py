"""Retry history: the run before a retry, so that its report covers both."""

import time
from typing import Any

from curator_core.model.records import StageCounts
from curator_core.model.usage import Usage
from curator_core.run.result import RunResult

_KEPT = ("started", "ended", "executor", "command", "result", "written")
"""Facts that describe the run itself, not the retry."""


class Earlier:
    """The contents of `run.json` when a retry started."""

    def __init__(self, facts: dict[str, Any]) -> None:
        self._facts = facts
        self._said: dict[str, Any] = facts.get("result") or {}
        self._status = str(facts.get("status_before", facts.get("status", "done")))
        self._is_complete = bool(self._said.get("is_complete", self._status == "done"))

    def while_retrying(self, now: dict[str, Any]) -> dict[str, Any]:
        """Return the contents of `run.json` during the retry."""
        kept = {name: self._facts[name] for name in _KEPT if name in self._facts}
        times = self._facts.get("retries", 0) + 1
        told = {"retries": times, "retried": time.time(), "status_before": self._status}
        return {**now, **kept, **told}

    def after(self, facts: dict[str, Any], result: RunResult) -> dict[str, Any]:
        """Return the contents of `run.json` after the retry, which never completes a run."""
        is_done = result.status == "done" and self._is_complete
        self._said = result.to_json()
        return {**facts, "status": "done" if is_done else self._status, "result": self._said}

    def add_to(self, result: RunResult) -> None:
        """Add the counts and usage of the run itself to the result of a retry."""
        for name, counts in self._said.get("stages", {}).items():
            if name in result.stages and not result.stages[name].tasks_in:  # it lists the sources
                result.stages[name] = StageCounts.from_json(counts)
        for name, facts in self._said.get("usages", {}).items():
            usage = Usage.from_json(facts)
            if name in result.usages:
                usage.add(result.usages[name])
            result.usages[name] = usage
        result.usages = {name: result.usages[name] for name in result.stages
                         if name in result.usages}  # fmt: skip
        restarts = dict(self._said.get("worker_restarts", {}))
        for reason, times in result.worker_restarts.items():
            restarts[reason] = restarts.get(reason, 0) + times
        result.worker_restarts = restarts
        result.is_complete = self._is_complete
        result.notes = list(dict.fromkeys([*self._said.get("notes", []), *result.notes]))
