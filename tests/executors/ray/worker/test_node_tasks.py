"""Files of workers are read and removed here, or by a task on another machine."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from curator_core.errors import AbortedError
from curator_core.local.shared_status import SharedStatus
from curator_ray.cluster.nodes import current_cluster
from curator_ray.worker import node_tasks
from curator_ray.worker.node_tasks import (
    fetch_crash_report,
    remove_folder_on_nodes,
    request_stop_on_node,
)
from curator_ray.worker.status_files import StatusFiles
from waitkit import eventually


def _is_stop_requested(status: SharedStatus) -> bool:
    try:
        status.begin(5, [], None)
    except AbortedError:
        return True
    return False


WORKER = """
import os, sys
from curator_core import Task
from curator_ray.worker.status_files import StatusFiles, StatusWriter
task = Task("x")
task.task_id = "a.7"
files = StatusFiles(*os.environ["FILES"].split("|"))
StatusWriter(files).begin(3, [task], None)
os._exit(0)
"""


class TestStatusFilesOnNodes:
    @pytest.mark.parametrize("is_here", [True, False])
    def test_a_dead_worker(
        self,
        cluster: Any,
        script: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        is_here: bool,
    ) -> None:
        files = StatusFiles(str(tmp_path / "run"), current_cluster().nodes[0].node_id, "w")
        worker = script(WORKER, FILES=f"{files.folder}|{files.node_id}|{files.worker_id}")
        assert worker.communicate(timeout=180) == ("", "")
        status = SharedStatus(os.open(files.status, os.O_RDWR))
        if not is_here:  # as if the node were another machine
            monkeypatch.setattr(node_tasks, "is_on_this_machine", lambda files: False)
        report = fetch_crash_report(files)
        assert report is not None
        assert report.status is not None
        assert (report.status.stage_index, report.status.task_ids) == (3, ["a.7"])
        status.begin(4, [], None)
        request_stop_on_node(files)
        assert eventually(lambda: _is_stop_requested(status))
        status.close()
        remove_folder_on_nodes(files.folder, [files.node_id])
        assert not os.path.exists(files.folder)

    def test_a_node_that_left(self, cluster: Any, tmp_path: Path) -> None:
        files = StatusFiles(str(tmp_path), "a" * 56, "w")
        assert fetch_crash_report(files) is None
        remove_folder_on_nodes(files.folder, [files.node_id])

    def test_a_node_that_does_not_answer_is_waited_for_once(
        self, cluster: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def be_late() -> str:  # inside, because a node could not import it from this file
            time.sleep(1)
            return "late"

        def answer() -> str:
            return "here"

        node = current_cluster().nodes[0].node_id
        monkeypatch.setattr(node_tasks, "_SILENT", {})
        monkeypatch.setattr(node_tasks, "_TIMEOUT_S", 0.3)
        assert node_tasks._run_on_node(node, be_late) is None
        assert list(node_tasks._SILENT) == [node]

        start = time.monotonic()
        assert [node_tasks._run_on_node(node, answer) for _ in range(20)] == [None] * 20
        assert time.monotonic() - start < 4

        monkeypatch.setattr(node_tasks, "_TIMEOUT_S", 20)
        monkeypatch.setattr(node_tasks, "_SKIP_SILENT_NODE_S", 0.0)
        assert node_tasks._run_on_node(node, answer) == "here"
