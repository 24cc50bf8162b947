"""Ray's dashboard: where it is, and what it asks for."""

import logging
from pathlib import Path
from typing import Any

import pytest
from curator_ray.cluster.connection import Connection
from curator_ray.cluster.dashboard import dashboard_address, log_dashboard
from curator_ray.cluster.private import TOKEN_FILE

ADDRESS = "RAY_OVERRIDE_DASHBOARD_URL"


def logged(caplog: pytest.LogCaptureFixture, connection: Connection) -> str:
    with caplog.at_level(logging.INFO, logger="curator_core"):
        log_dashboard(connection)
    [record] = [record for record in caplog.records if record.name == "curator_core"]
    return record.getMessage()


def test_a_cluster_without_one(cluster: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert dashboard_address() is None
    message = logged(caplog, Connection("found", "127.0.0.1:7"))
    assert "no dashboard of the cluster at 127.0.0.1:7" in message


def test_that_of_a_cluster_of_others(
    cluster: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ADDRESS, "http://there:8265")
    assert logged(caplog, Connection("joined", "there:6379")).endswith("at http://there:8265")


def test_that_of_a_private_cluster_asks_for_a_token(
    cluster: Any,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv(ADDRESS, "http://127.0.0.1:8265")
    (tmp_path / TOKEN_FILE).write_text("secret-of-the-cluster")
    message = logged(caplog, Connection("private", "127.0.0.1:7", str(tmp_path)))
    assert "http://127.0.0.1:8265" in message
    assert str(tmp_path / TOKEN_FILE) in message
    assert "secret-of-the-cluster" not in message
