"""Output that workers print is kept in the run directory, and never harms the run."""

import logging
from pathlib import Path

import fsspec
import pytest
from curator_core.model.secrets import secret
from curator_core.run import worker_logs
from curator_core.run.worker_logs import WorkerLogs


class TestWorkerLogs:
    def test_each_worker_has_a_file_that_grows(self, tmp_path: Path) -> None:
        logs = WorkerLogs(str(tmp_path))
        for worker, text in (("1", "a\n"), ("2", "b\n"), ("1", "c\n")):
            logs.add(worker, text)
        logs.close()
        again = WorkerLogs(str(tmp_path))
        again.add("1", "d\n")
        again.close()
        found = {path.name: path.read_text() for path in (tmp_path / "logs").iterdir()}
        assert found == {"worker-1.log": "a\nc\nd\n", "worker-2.log": "b\n"}

    def test_a_run_keeps_no_more_than_its_share_of_the_disk(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(worker_logs, "MAX_BYTES", 10)
        logs = WorkerLogs(str(tmp_path))
        for _ in range(9):
            logs.add("1", "12345\n")
        [file] = (tmp_path / "logs").iterdir()
        assert file.read_text() == "12345\n12345\n\n[this run keeps no more than 10 bytes]\n"

    def test_a_failure_to_write_is_logged_once(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        (tmp_path / "logs").write_text("a file in the way")
        logs = WorkerLogs(str(tmp_path))
        for _ in range(9):
            logs.add("1", "a\n")
        logs.close()
        assert len(caplog.records) == 1

    def test_an_object_store_gets_parts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(worker_logs, "_OBJECT_BYTES", 3)
        logs = WorkerLogs("memory://worker-logs")
        for text in ("a\n", "b\n", "c\n"):
            logs.add("1", text)
        logs.close()
        memory = fsspec.filesystem("memory")
        parts = [memory.cat_file(path) for path in sorted(memory.ls("/worker-logs/logs", False))]
        memory.rm("/worker-logs", recursive=True)
        assert parts == [b"a\nb\n", b"c\n"]


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRINTED_KEY", "hunter22222")
    secret("PRINTED_KEY")
    assert (
        worker_logs.redact_output("the key is hunter22222") == "the key is ${secret:PRINTED_KEY}\n"
    )


def test_lines_are_only_logged_if_requested(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "curator_core.workers"):
        worker_logs.log_worker_output("1", "a\n")
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, "curator_core.workers"):
        worker_logs.log_worker_output("1", "a\n\nb")
    assert [record.getMessage() for record in caplog.records] == ["worker 1: a", "worker 1: b"]
