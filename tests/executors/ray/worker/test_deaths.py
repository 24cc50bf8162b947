"""Reasons of deaths, from what Ray says and from the worker's files."""

from typing import Any

import pytest
from curator_core.local.shared_status import StageStatus
from curator_core.model.crash_attribution import OUTSIDE_KILL_WEIGHT
from curator_ray.worker.deaths import explain_death, is_worker_death
from curator_ray.worker.status_files import CrashReport
from ray import exceptions

STATUS = StageStatus(2, ["a.1"], 0.0, 1.5, True)
WITHOUT_TRACE = CrashReport(STATUS, "", "the end of its log", False)
LOST = Exception(
    "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker "
    "exit detail: Worker unexpectedly exits with a connection error code 2. End of file. Some "
    "common causes include: (1) the process was killed by the OOM killer"
)
NEVER_STARTED = Exception(
    "The actor died because of an error raised in its creation task, ray::StageRunner.__init__()\n"
    '  File "status_files.py", line 62, in __init__\n'
    "PermissionError: [Errno 13] Permission denied: '/tmp/run'"
)
KILLED = Exception(
    "The actor is dead because it was killed by `ray.kill`.\nThe actor never ran - it was cancelled"
)


class OutOfMemoryError(Exception):
    pass


class ActorUnschedulableError(Exception):
    pass


class TestExplainDeath:
    @pytest.mark.parametrize(
        ("report", "error", "reason"),
        [
            (WITHOUT_TRACE, Exception("connection error code 2"), "died"),
            (None, Exception("connection error code 2"), "died"),
            (None, ActorUnschedulableError("no such node"), "was on a node that was lost"),
            (None, Exception("because its node has died."), "was on a node that was lost"),
            (WITHOUT_TRACE, OutOfMemoryError("x"), "ran out of memory"),
            (None, Exception("exceeds the memory usage threshold of 0.95"), "ran out of memory"),
            (CrashReport(STATUS, "", "", True), Exception("died"), "ran out of memory"),
            (
                CrashReport(STATUS, "Timeout (0:00:01.500000)!\nThread", "", False),
                Exception("died"),
                "took longer than its timeout_s of 1.5 s",
            ),
            (
                CrashReport(STATUS, "Fatal Python error: Bus error\n\n", "", False),
                Exception("died"),
                "crashed: Bus error",
            ),
            (
                None,
                Exception("RuntimeEnvSetupError: it failed\n  File pip.py\nNo wheel\n "),
                "could not get its runtime_env; Ray says: No wheel",
            ),
        ],
    )
    def test_reasons(self, report: CrashReport | None, error: Exception, reason: str) -> None:
        death = explain_death(report, error, node_is_alive=True)
        assert death.reason == reason
        assert death.status == (report.status if report else None)

    @pytest.mark.parametrize(
        ("report", "error", "reason"),
        [
            (None, NEVER_STARTED, "PermissionError: [Errno 13] Permission denied: '/tmp/run'"),
            (None, KILLED, "it was killed by `ray.kill`"),
            (WITHOUT_TRACE, KILLED, "it was killed by `ray.kill`"),
            (None, LOST, "Worker unexpectedly exits with a connection error code 2. End of file"),
        ],
    )
    def test_rays_explanation_is_kept(
        self, report: CrashReport | None, error: Exception, reason: str
    ) -> None:
        death = explain_death(report, error, node_is_alive=True)
        assert death.reason == f"died; Ray says: {reason}"
        assert death.weight == OUTSIDE_KILL_WEIGHT

    def test_rays_text_about_a_sigkill_is_left_out(self) -> None:
        assert explain_death(WITHOUT_TRACE, LOST, node_is_alive=True).reason == "died"

    def test_the_death_of_the_node_comes_first(self) -> None:
        death = explain_death(None, OutOfMemoryError("x"), node_is_alive=False)
        assert death.reason == "was on a node that was lost"
        assert death.is_node_lost

    def test_no_other_death_counts_as_that_of_the_node(self) -> None:
        error = OutOfMemoryError("on a node that was lost")
        assert not explain_death(None, error, node_is_alive=True).is_node_lost

    def test_the_end_of_the_log_is_the_detail_if_nothing_else_is_known(self) -> None:
        death = explain_death(WITHOUT_TRACE, Exception("x"), node_is_alive=True)
        assert death.detail == "the end of its log"


class TestIsWorkerDeath:
    @pytest.mark.parametrize(
        ("error", "is_death"),
        [
            (exceptions.ActorDiedError(), True),
            (exceptions.ActorUnschedulableError("no such node"), True),
            (exceptions.OutOfMemoryError("killed"), True),
            (exceptions.RuntimeEnvSetupError("no such wheel"), True),
            (exceptions.ObjectLostError("00" * 28, None, ""), False),
            (exceptions.RaySystemError("odd"), False),
        ],
    )
    def test_errors_of_ray(self, error: Any, is_death: bool) -> None:
        assert is_worker_death(error) is is_death
