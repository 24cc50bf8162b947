"""Errands to nodes: by the files of this machine, or by a task where those are elsewhere."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from curator_core.errors import AbortedError
from curator_core.local.shared_status import SharedStatus
from curator_ray import errands
from curator_ray.errands import break_off, last_words, sweep
from curator_ray.facts import look
from curator_ray.posts import Post
from waitkit import eventually


def _is_broken_off(board: SharedStatus) -> bool:
    try:
        board.begin(5, [], None)
    except AbortedError:
        return True
    return False


WORKER = """
import os, sys
from curator_core import Task
from curator_ray.posts import Post, Watchman
task = Task("x")
task.task_id = "a.7"
post = Post(*os.environ["POST"].split("|"))
Watchman(post).begin(3, [task], None)
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
        post = Post(str(tmp_path / "posts"), look().nodes[0].node_id, "w")
        worker = script(WORKER, POST=f"{post.folder}|{post.node_id}|{post.worker_id}")
        assert worker.communicate(timeout=90) == ("", "")
        handle = os.open(post.board, os.O_RDWR)
        board = SharedStatus(handle)
        if not is_near:  # this process sees no files of the node, as if it were another machine
            monkeypatch.setattr(errands, "is_here", lambda post: False)
        words = last_words(post)
        assert words is not None
        assert words.note is not None
        assert (words.note.stage_index, words.note.task_ids) == (3, ["a.7"])
        board.begin(4, [], None)
        break_off(post)
        assert eventually(lambda: _is_broken_off(board))
        board.close()
        sweep(post.folder, [post.node_id])
        assert not os.path.exists(post.folder)

    def test_to_a_node_that_is_gone(self, cluster: Any, tmp_path: Path) -> None:
        post = Post(str(tmp_path), "a" * 56, "w")
        assert last_words(post) is None
        sweep(post.folder, [post.node_id])

    def test_to_a_node_that_does_not_answer_keeps_us_waiting_only_once(
        self, cluster: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def dawdle() -> str:  # here, since a node could not import them from this file
            time.sleep(1)
            return "late"

        def answer() -> str:
            return "here"

        node = look().nodes[0].node_id
        monkeypatch.setattr(errands, "_SILENT", {})
        monkeypatch.setattr(errands, "_PATIENCE_S", 0.3)
        assert errands._there(node, dawdle) is None
        assert list(errands._SILENT) == [node]

        begun = time.monotonic()
        assert [errands._there(node, answer) for _ in range(20)] == [None] * 20
        assert time.monotonic() - begun < 4

        monkeypatch.setattr(errands, "_PATIENCE_S", 20)
        monkeypatch.setattr(errands, "_SILENT_FOR_S", 0.0)
        assert errands._there(node, answer) == "here"
