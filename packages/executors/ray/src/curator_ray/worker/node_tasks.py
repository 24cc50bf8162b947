"""Run functions on nodes: read, flag and remove the files of workers on other machines."""

import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from math import inf
from typing import Any, TypeVar

from curator_ray.worker.activity import WorkerActivity, read_activities
from curator_ray.worker.status_files import (
    CrashReport,
    StatusFiles,
    read_crash_report,
    request_stop,
)

T = TypeVar("T")

_TIMEOUT_S = 10.0
_SKIP_SILENT_NODE_S = 60.0
_SILENT: dict[str, float] = {}
"""When nodes did not answer in time."""


def is_on_this_machine(files: StatusFiles) -> bool:
    """Whether the node is this machine. Folder names are random, so no other has this one."""
    return files.node_folder.exists()


def fetch_crash_report(files: StatusFiles) -> CrashReport | None:
    """Read what a dead worker left behind; None if its node cannot be reached."""
    if is_on_this_machine(files):
        return read_crash_report(files)
    return _run_on_node(files.node_id, read_crash_report, files)


def request_crash_report(files: StatusFiles) -> Any:
    """Like `fetch_crash_report` for another machine, but return a reference and do not wait."""
    return _submit(files.node_id, read_crash_report, files)


def read_activities_on_nodes(
    workers: Iterable[StatusFiles], *, with_stacks: bool = False
) -> list[WorkerActivity]:
    """Read what workers on several nodes are doing; without those on nodes that do not answer."""
    import ray

    by_node: dict[str, list[StatusFiles]] = {}
    for files in workers:
        by_node.setdefault(files.node_id, []).append(files)
    found: list[WorkerActivity] = []
    refs = []
    for node_id, there in by_node.items():
        if is_on_this_machine(there[0]):
            found += read_activities(there, with_stacks=with_stacks)
        else:
            refs.append(_submit(node_id, read_activities, there, with_stacks=with_stacks))
    ready, _ = ray.wait(refs, num_returns=len(refs), timeout=_TIMEOUT_S) if refs else ([], [])
    for ref in ready:
        with suppress(ray.exceptions.RayError):
            found += ray.get(ref)
    return found


def request_stop_on_node(files: StatusFiles) -> None:
    """Have a worker stop before it enters a stage again; does not wait for other machines."""
    if is_on_this_machine(files):
        request_stop(files)
    else:
        _submit(files.node_id, request_stop, files)


def remove_folder_on_nodes(folder: str, node_ids: Iterable[str]) -> None:
    """Remove the files of a run on all of its nodes."""
    import ray

    remote = [n for n in node_ids if not is_on_this_machine(StatusFiles(folder, n, ""))]
    shutil.rmtree(folder, ignore_errors=True)
    refs = [_submit(node_id, _remove_folder, folder) for node_id in remote]
    if refs:
        ray.wait(refs, num_returns=len(refs), timeout=_TIMEOUT_S)


def run_on_nodes(node_ids: Iterable[str], function: Callable[..., T], *args: Any) -> list[T]:
    """Call a function on each of these nodes; leave out those that died or do not answer.

    The nodes must be able to import the function.
    """
    import ray

    refs = [_submit(node_id, function, *args) for node_id in node_ids]
    ready, _ = ray.wait(refs, num_returns=len(refs), timeout=_TIMEOUT_S) if refs else ([], [])
    results: list[T] = []
    for ref in ready:
        with suppress(ray.exceptions.RayError):
            results.append(ray.get(ref))
    return results


def _remove_folder(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def _run_on_node(node_id: str, function: Callable[..., T], *args: Any) -> T | None:
    """Call a function on a node; None if the node does not answer.

    A node that did not answer is skipped for a while. All of its workers may have died with it,
    long before Ray marks it as dead, and each would cost another timeout.
    """
    import ray

    if time.monotonic() - _SILENT.get(node_id, -inf) < _SKIP_SILENT_NODE_S:
        return None
    try:
        result: T = ray.get(_submit(node_id, function, *args), timeout=_TIMEOUT_S)
    except ray.exceptions.GetTimeoutError:
        _SILENT[node_id] = time.monotonic()
        return None
    except ray.exceptions.RayError:  # the node died
        return None
    return result


def _submit(node_id: str, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    strategy = NodeAffinitySchedulingStrategy(node_id, soft=False)
    task: Any = ray.remote(num_cpus=0, max_retries=0)(function)
    return task.options(scheduling_strategy=strategy).remote(*args, **options)
