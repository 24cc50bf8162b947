"""Errands: what is read, flagged or removed on a node: in its files, or by a task sent there."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from curator_ray.posts import LastWords, Post, ask_to_stop, read

T = TypeVar("T")

_PATIENCE_S = 10.0


def last_words(post: Post) -> LastWords | None:
    """What a dead worker left at its post; None where that cannot be known (its node is gone)."""
    if post.node_folder.exists():
        return read(post)
    return _there(post.node_id, read, post)


def break_off(post: Post) -> None:
    """Have a worker stop before its next entry into a stage."""
    if not ask_to_stop(post) and not post.node_folder.exists():
        _there(post.node_id, ask_to_stop, post)


def sweep(folder: str, node_ids: Iterable[str]) -> None:
    """Remove the posts of a run on all of its nodes."""
    far = [node_id for node_id in node_ids if not Path(folder, node_id).exists()]
    shutil.rmtree(folder, ignore_errors=True)
    for node_id in far:
        _there(node_id, _remove, folder)


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _there(node_id: str, errand: Callable[..., T], *given: Any) -> T | None:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place = NodeAffinitySchedulingStrategy(node_id, soft=False)
    errands: Any = ray.remote(num_cpus=0, max_retries=0)(errand)
    sent = errands.options(scheduling_strategy=place).remote(*given)
    try:
        told: T = ray.get(sent, timeout=_PATIENCE_S)
    except ray.exceptions.RayError:  # the node is gone, or has more urgent things to do
        return None
    return told
