"""Locks: one run at a time, and dead runs hold none."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core import ResumeError
from curator_core.run import locks
from curator_core.run.locks import Lock, LockedFolder, lock_folder, lock_run_directory
from fsspec.implementations.memory import MemoryFileSystem

HOLD = """
import sys, time
from curator_core.run.locks import lock_run_directory
lock_run_directory(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def remote() -> Iterator[str]:
    fs = MemoryFileSystem()
    fs.makedirs("/lock-tests/run")
    yield "memory://lock-tests/run"
    fs.rm("/lock-tests", recursive=True)


class Clock(SimpleNamespace):
    """The time as locks see it."""

    now: float

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock(now=1e9, strftime=time.strftime, localtime=time.localtime)
    monkeypatch.setattr(locks, "time", made)
    monkeypatch.setattr(locks, "HEARTBEAT_S", 0.01)
    return made


def renewed() -> list[float]:
    """When each lock was renewed last."""
    fs = MemoryFileSystem()
    held = [fs.cat_file(path) for path in fs.find("/lock-tests") if path.endswith("/lock")]
    return [json.loads(facts)["renewed"] for facts in held]


def until(is_so: Callable[[], bool | None]) -> None:
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def owner(**facts: object) -> bytes:
    known = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time(), "mark": "m"}
    return json.dumps({**known, "renewed": time.time(), **facts}).encode()


class TestFiles:
    def test_a_second_one_is_refused_with_who_holds_it(self, tmp_path: Path) -> None:
        lock = lock_run_directory(str(tmp_path))
        with pytest.raises(ResumeError) as caught:
            lock_run_directory(str(tmp_path))
        message = str(caught.value)
        assert message.startswith(
            f"run directory {tmp_path} is in use by process {os.getpid()} on "
        )
        assert message.endswith("wait for that run to end, or give this one another run_dir")
        lock.release()
        lock_run_directory(str(tmp_path)).release()

    def test_a_killed_holder_holds_nothing(self, tmp_path: Path) -> None:
        with subprocess.Popen(
            [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
        ) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(ResumeError, match=f"in use by process {holder.pid} on "):
                lock_run_directory(str(tmp_path))
            holder.kill()
        lock_run_directory(str(tmp_path)).release()

    def test_a_reader_that_holds_the_lock_is_waited_for(self, tmp_path: Path) -> None:
        looking = lock_run_directory(str(tmp_path))
        threading.Timer(0.05, looking.release).start()
        lock_run_directory(str(tmp_path)).release()

    def test_a_place_that_cannot_be_locked(self, tmp_path: Path) -> None:
        (tmp_path / "lock").mkdir()
        with pytest.raises(ResumeError) as caught:
            lock_run_directory(str(tmp_path))
        assert str(caught.value) == (
            f"cannot lock run directory {tmp_path}: Is a directory; "
            "allow writing there, or choose another place with run_dir"
        )


class TestObjects:
    def test_a_second_one_is_refused(self, remote: str) -> None:
        lock = lock_run_directory(remote)
        with pytest.raises(ResumeError, match=f"is in use by process {os.getpid()} on "):
            lock_run_directory(remote)
        lock.release()
        lock_run_directory(remote).release()
        assert not MemoryFileSystem().exists("/lock-tests/run/lock")

    @pytest.mark.parametrize(
        "content",
        [
            owner(pid=2**22 + 1),
            b"garbage",
            b"[]",
            b"",
        ],
    )
    def test_a_lock_that_is_not_renewed_expires(self, content: bytes, remote: str) -> None:
        MemoryFileSystem().pipe_file("/lock-tests/run/lock", content)
        lock_run_directory(remote).release()

    @pytest.mark.parametrize("ahead_s", [-1000, 0, 1000])
    def test_only_the_clock_of_the_store_counts(self, ahead_s: float, remote: str) -> None:
        fs = MemoryFileSystem()
        renewed = time.time() + ahead_s
        fs.pipe_file("/lock-tests/run/lock", owner(host="elsewhere", renewed=renewed))
        with pytest.raises(ResumeError, match="on elsewhere"):
            lock_run_directory(remote)
        fs.store["/lock-tests/run/lock"].modified -= timedelta(seconds=locks.STALE_AFTER_S + 1)
        lock_run_directory(remote).release()
        assert fs.find("/lock-tests/run") == []

    def test_without_times_of_the_store_the_local_clock_counts(
        self, remote: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def modified(self: MemoryFileSystem, path: str) -> None:
            raise NotImplementedError

        monkeypatch.setattr(MemoryFileSystem, "modified", modified)
        fs = MemoryFileSystem()
        fs.pipe_file("/lock-tests/run/lock", owner(host="elsewhere"))
        with pytest.raises(ResumeError, match="on elsewhere"):
            lock_run_directory(remote)
        old = time.time() - locks.STALE_AFTER_S - 1
        fs.pipe_file("/lock-tests/run/lock", owner(host="elsewhere", renewed=old))
        lock_run_directory(remote).release()

    def test_a_lock_of_another_machine_is_respected(self, remote: str) -> None:
        MemoryFileSystem().pipe_file("/lock-tests/run/lock", owner(host="elsewhere", pid=2**22 + 1))
        with pytest.raises(ResumeError, match="in use by process 4194305 on elsewhere"):
            lock_run_directory(remote)

    def test_a_run_that_loses_its_lock_stops(
        self, remote: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two runs started at the same moment: one of them finds the other's name in the lock."""
        monkeypatch.setattr(locks, "HEARTBEAT_S", 0.01)
        lock = lock_run_directory(remote)
        lock.check()
        MemoryFileSystem().pipe_file("/lock-tests/run/lock", owner(pid=1, mark="another"))
        with pytest.raises(ResumeError, match="is in use by process 1 on "):
            until(lock.check)
        lock.release()
        assert MemoryFileSystem().exists("/lock-tests/run/lock")

    @pytest.mark.parametrize(
        "take", [lock_run_directory, lambda path: lock_folder(LockedFolder(path))]
    )
    def test_it_is_renewed_while_its_holder_is_busy(
        self, take: Callable[[str], Lock], remote: str, clock: Clock
    ) -> None:
        lock = take(remote)
        for _ in range(3):
            clock.now += 3600
            until(lambda: clock.now in renewed())
            with pytest.raises(ResumeError, match=f"is in use by process {os.getpid()} on "):
                take(remote)
        lock.release()
        clock.now += 3600
        take(remote).release()

    def test_a_released_one_is_not_renewed(self, remote: str, clock: Clock) -> None:
        before = threading.active_count()
        lock = lock_run_directory(remote)
        lock.release()
        assert threading.active_count() == before
        assert renewed() == []

    def test_a_temporary_failure_of_the_store_is_retried(
        self,
        remote: str,
        clock: Clock,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        failing = iter([ConnectionError("the store is away")])
        write = MemoryFileSystem.pipe_file

        def pipe_file(*args: Any, **options: Any) -> None:
            for error in failing:
                raise error
            write(*args, **options)

        lock = lock_run_directory(remote)
        monkeypatch.setattr(MemoryFileSystem, "pipe_file", pipe_file)
        clock.now += 3600
        until(lambda: clock.now in renewed())
        lock.check()
        lock.release()
        message = "run directory memory://lock-tests/run could not be renewed: ConnectionError: the"
        assert message in caplog.text

    def test_a_store_that_cannot_be_written_to_is_reported_with_a_solution(
        self, remote: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: Any, **__: Any) -> None:
            raise PermissionError("Access Denied")

        monkeypatch.setattr(MemoryFileSystem, "pipe_file", refuse)
        with pytest.raises(ResumeError) as error:
            lock_run_directory(remote)
        assert str(error.value) == (
            "cannot lock run directory memory://lock-tests/run: Access Denied; "
            "allow writing there, or choose another place with run_dir"
        )

    def test_a_failure_of_the_store_at_the_end_does_no_harm(
        self, remote: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(*_: Any, **__: Any) -> None:
            raise ConnectionError("the store is away")

        lock = lock_run_directory(remote)
        monkeypatch.setattr(MemoryFileSystem, "rm_file", fail)
        lock.release()
        assert "could not be released: ConnectionError: the store is away" in caplog.text
