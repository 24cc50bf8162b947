"""Reasons of deaths, from what Ray says and what the post tells."""

from typing import Any

import pytest
from curator_core.local.shared_status import StageStatus
from curator_core.model.crash_attribution import OUTSIDE_KILL_WEIGHT
from curator_ray.worker.deaths import explain_death, is_worker_death
from curator_ray.worker.status_files import CrashReport
from ray import exceptions

NOTE = StageStatus(2, ["a.1"], 0.0, 1.5, True)
SILENT = CrashReport(NOTE, "", "the end of its log", False)
LOST = Exception(
    "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker "
    "exit detail: Worker unexpectedly exits with a connection error code 2. End of file. Some "
    "common causes include: (1) the process was killed by the OOM killer"
)
NEVER_STARTED = Exception(
    "The actor died because of an error raised in its creation task, ray::StageActor.__init__()\n"
    '  File "posts.py", line 62, in __init__\n'
    "PermissionError: [Errno 13] Permission denied: '/tmp/posts'"
)
KILLED = Exception(
    "The actor is dead because it was killed by `ray.kill`.\nThe actor never ran - it was cancelled"
)


class OutOfMemoryError(Exception):
    pass


class ActorUnschedulableError(Exception):
    pass


class TestDeathFrom:
    @pytest.mark.parametrize(
        ("words", "error", "reason"),
        [
            (SILENT, Exception("connection error code 2"), "died"),
            (None, Exception("connection error code 2"), "died"),
            (None, ActorUnschedulableError("no such node"), "was on a node that is gone"),
            (None, Exception("because its node has died."), "was on a node that is gone"),
            (SILENT, OutOfMemoryError("x"), "ran out of memory"),
            (None, Exception("exceeds the memory usage threshold of 0.95"), "ran out of memory"),
            (CrashReport(NOTE, "", "", True), Exception("died"), "ran out of memory"),
            (
                CrashReport(NOTE, "Timeout (0:00:01.500000)!\nThread", "", False),
                Exception("died"),
                "took longer than its timeout_s of 1.5 s",
            ),
            (
                CrashReport(NOTE, "Fatal Python error: Bus error\n\n", "", False),
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
    def test_reasons(self, words: CrashReport | None, error: Exception, reason: str) -> None:
        death = explain_death(words, error, node_is_alive=True)
        assert death.reason == reason
        assert death.status == (words.status if words else None)

    @pytest.mark.parametrize(
        ("words", "error", "reason"),
        [
            (None, NEVER_STARTED, "PermissionError: [Errno 13] Permission denied: '/tmp/posts'"),
            (None, KILLED, "it was killed by `ray.kill`"),
            (SILENT, KILLED, "it was killed by `ray.kill`"),
            (None, LOST, "Worker unexpectedly exits with a connection error code 2. End of file"),
        ],
    )
    def test_what_ray_says_is_kept(
        self, words: CrashReport | None, error: Exception, reason: str
    ) -> None:
        death = explain_death(words, error, node_is_alive=True)
        assert death.reason == f"died; Ray says: {reason}"
        assert death.weight == OUTSIDE_KILL_WEIGHT

    def test_what_it_says_of_a_sigkill_is_worth_nothing(self) -> None:
        assert explain_death(SILENT, LOST, node_is_alive=True).reason == "died"

    def test_the_node_comes_first(self) -> None:
        death = explain_death(None, OutOfMemoryError("x"), node_is_alive=False)
        assert death.reason == "was on a node that is gone"

    def test_the_end_of_the_log_is_shown_where_nothing_else_is_known(self) -> None:
        death = explain_death(SILENT, Exception("x"), node_is_alive=True)
        assert death.detail == "the end of its log"


class TestIsDeath:
    @pytest.mark.parametrize(
        ("error", "is_one"),
        [
            (exceptions.ActorDiedError(), True),
            (exceptions.ActorUnschedulableError("no such node"), True),
            (exceptions.OutOfMemoryError("killed"), True),
            (exceptions.RuntimeEnvSetupError("no such wheel"), True),
            (exceptions.ObjectLostError("00" * 28, None, ""), False),
            (exceptions.RaySystemError("odd"), False),
        ],
    )
    def test_what_ray_raises_for_a_worker_that_is_gone(self, error: Any, is_one: bool) -> None:
        assert is_worker_death(error) is is_one
