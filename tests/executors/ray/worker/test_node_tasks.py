"""Errands to nodes: by the files of this machine, or by a task where those are elsewhere."""

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


def _is_aborted(board: SharedStatus) -> bool:
    try:
        board.begin(5, [], None)
    except AbortedError:
        return True
    return False


WORKER = """
import os, sys
from curator_core import Task
from curator_ray.worker.status_files import StatusFiles, StatusWriter
task = Task("x")
task.task_id = "a.7"
post = StatusFiles(*os.environ["POST"].split("|"))
StatusWriter(post).begin(3, [task], None)
os._exit(0)
"""


class TestErrands:
    @pytest.mark.parametrize("is_near", [True, False])
    def test_to_the_post_of_a_dead_worker(
        self,
        cluster: Any,
        script: Any,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        is_near: bool,
    ) -> None:
        post = StatusFiles(str(tmp_path / "posts"), current_cluster().nodes[0].node_id, "w")
        worker = script(WORKER, POST=f"{post.folder}|{post.node_id}|{post.worker_id}")
        assert worker.communicate(timeout=90) == ("", "")
        handle = os.open(post.status, os.O_RDWR)
        board = SharedStatus(handle)
        if not is_near:  # this process sees no files of the node, as if it were another machine
            monkeypatch.setattr(node_tasks, "is_on_this_machine", lambda post: False)
        words = fetch_crash_report(post)
        assert words is not None
        assert words.status is not None
        assert (words.status.stage_index, words.status.task_ids) == (3, ["a.7"])
        board.begin(4, [], None)
        request_stop_on_node(post)
        assert eventually(lambda: _is_aborted(board))
        board.close()
        remove_folder_on_nodes(post.folder, [post.node_id])
        assert not os.path.exists(post.folder)

    def test_to_a_node_that_is_gone(self, cluster: Any, tmp_path: Path) -> None:
        post = StatusFiles(str(tmp_path), "a" * 56, "w")
        assert fetch_crash_report(post) is None
        remove_folder_on_nodes(post.folder, [post.node_id])

    def test_to_a_node_that_does_not_answer_keeps_us_waiting_only_once(
        self, cluster: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def dawdle() -> str:  # here, since a node could not import them from this file
            time.sleep(1)
            return "late"

        def answer() -> str:
            return "here"

        node = current_cluster().nodes[0].node_id
        monkeypatch.setattr(node_tasks, "_SILENT", {})
        monkeypatch.setattr(node_tasks, "_TIMEOUT_S", 0.3)
        assert node_tasks._run_on_node(node, dawdle) is None
        assert list(node_tasks._SILENT) == [node]

        begun = time.monotonic()
        assert [node_tasks._run_on_node(node, answer) for _ in range(20)] == [None] * 20
        assert time.monotonic() - begun < 4

        monkeypatch.setattr(node_tasks, "_TIMEOUT_S", 20)
        monkeypatch.setattr(node_tasks, "_SKIP_SILENT_NODE_S", 0.0)
        assert node_tasks._run_on_node(node, answer) == "here"
