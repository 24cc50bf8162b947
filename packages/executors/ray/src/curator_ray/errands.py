"""Errands: what is read, flagged or removed on a node: in its files, or by a task sent there."""

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

from curator_ray.posts import LastWords, Post, read, request_stop

T = TypeVar("T")

_PATIENCE_S = 10.0
_SILENT_FOR_S = 60.0
_SILENT: dict[str, float] = {}
"""Nodes that did not answer, and when."""


def is_here(post: Post) -> bool:
    """Whether its node is this machine: the folder is named by chance, so nobody else has it."""
    return post.node_folder.exists()


def last_words(post: Post) -> LastWords | None:
    """What a dead worker left at its post; None where that cannot be known (its node is gone)."""
    return read(post) if is_here(post) else _there(post.node_id, read, post)


def break_off(post: Post) -> None:
    """Have a worker stop before its next entry into a stage; nobody waits for those far away."""
    if is_here(post):
        request_stop(post)
    else:
        _send(post.node_id, request_stop, post)


def sweep(folder: str, node_ids: Iterable[str]) -> None:
    """Remove the posts of a run on all of its nodes."""
    import ray

    far = [node_id for node_id in node_ids if not is_here(Post(folder, node_id, ""))]
    shutil.rmtree(folder, ignore_errors=True)
    sent = [_send(node_id, _remove, folder) for node_id in far]
    if sent:
        ray.wait(sent, num_returns=len(sent), timeout=_PATIENCE_S)


def everywhere(node_ids: Iterable[str], errand: Callable[..., T], *given: Any) -> list[T]:
    """Have the same done on all of these nodes; those that are gone, or do not answer, say nothing.

    The errand has to be a function that nodes can import.
    """
    import ray

    sent = [_send(node_id, errand, *given) for node_id in node_ids]
    ready, _ = ray.wait(sent, num_returns=len(sent), timeout=_PATIENCE_S) if sent else ([], [])
    answers: list[T] = []
    for answer in ready:
        with suppress(ray.exceptions.RayError):
            answers.append(ray.get(answer))
    return answers


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _there(node_id: str, errand: Callable[..., T], *given: Any) -> T | None:
    """A node that kept us waiting in vain is not asked again for a while: all of its workers may
    have died with it, long before Ray knows that it is gone."""
    import ray

    if time.monotonic() - _SILENT.get(node_id, -inf) < _SILENT_FOR_S:
        return None
    try:
        told: T = ray.get(_send(node_id, errand, *given), timeout=_PATIENCE_S)
    except ray.exceptions.GetTimeoutError:
        _SILENT[node_id] = time.monotonic()
        return None
    except ray.exceptions.RayError:  # the node is gone
        return None
    return told


def _send(node_id: str, errand: Callable[..., Any], *given: Any) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    place = NodeAffinitySchedulingStrategy(node_id, soft=False)
    errands: Any = ray.remote(num_cpus=0, max_retries=0)(errand)
    return errands.options(scheduling_strategy=place).remote(*given)
