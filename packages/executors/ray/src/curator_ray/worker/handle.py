"""Workers as the driver sees them: start, call, stop."""

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from curator_core import Plan, Resources
from curator_core.errors import PipelineError
from curator_core.model.crash_attribution import Blame

from curator_ray.cluster.nodes import NodeFacts, current_cluster
from curator_ray.resources import actor_options
from curator_ray.runtime_env import runtime_env_problems
from curator_ray.temp_folders import RUN_FOLDER_PREFIX, FolderLock, remove_abandoned_folders
from curator_ray.transfer.modules import PlanPacker, search_path
from curator_ray.worker.actor import StageRunner
from curator_ray.worker.deaths import WorkerDeath, explain_death
from curator_ray.worker.messages import Assignment, Span, StageRange, WorkerLocation
from curator_ray.worker.node_tasks import (
    fetch_crash_report,
    is_on_this_machine,
    remove_folder_on_nodes,
    request_crash_report,
    request_stop_on_node,
)
from curator_ray.worker.status_files import CrashReport, StatusFiles, find_node_id

if TYPE_CHECKING:
    from ray import ObjectRef, ObjectRefGenerator


@dataclass(frozen=True)
class PendingCall:
    """References to what a call under way will return."""

    result: "ObjectRef[Any]"
    """A `CallResult`, which the driver reads."""
    outputs: "ObjectRef[Any]"
    """`PackedTasks`, which other workers read."""


class WorkerHandle:
    """One worker: its actor, and what the driver knows about it."""

    def __init__(self, worker_id: str, actor: Any, folder: str) -> None:
        self.worker_id = worker_id
        self.ready: ObjectRef[WorkerLocation] = actor.ping.remote()
        """Resolves when the worker is up."""
        self.node_id = ""
        """Empty until the node is known: chosen at the start, or reported by `ready`."""
        self._actor = actor
        self._folder = folder

    @property
    def status_files(self) -> StatusFiles:
        node_id = self.node_id or find_node_id(self._folder, self.worker_id)
        return StatusFiles(self._folder, node_id, self.worker_id)

    def set_up(self, step: StageRange) -> "ObjectRef[Any]":
        """Set up stages before their first call; resolves to a `CallResult`."""
        ref: ObjectRef[Any] = self._actor.set_up.remote(step)
        return ref

    def run(
        self,
        step: StageRange,
        blame: Blame | None,
        spans: Sequence[Span],
        packs: "Sequence[ObjectRef[Any]]",
    ) -> PendingCall:
        """Run tasks through a step. `spans` select the tasks of each pack."""
        result, outputs = self._actor.run.remote(_dumps(step, blame, spans), *packs)
        return PendingCall(result, outputs)

    def stream(
        self,
        step: StageRange,
        blame: Blame | None,
        spans: Sequence[Span],
        packs: "Sequence[ObjectRef[Any]]",
    ) -> "ObjectRefGenerator":
        """Like `run`, for stages with large outputs: references to results and outputs, in turn."""
        stream: ObjectRefGenerator = self._actor.stream.remote(_dumps(step, blame, spans), *packs)
        return stream

    def tear_down(self, stage_index: int) -> "ObjectRef[Any]":
        ref: ObjectRef[Any] = self._actor.tear_down.remote(stage_index)
        return ref

    def ping(self) -> "ObjectRef[WorkerLocation]":
        """Resolve after the calls before it."""
        ref: ObjectRef[WorkerLocation] = self._actor.ping.remote()
        return ref

    def end(self) -> "ObjectRef[Any]":
        """Tear down after the calls before it; resolves to a `CallResult`. Then call `kill`."""
        ref: ObjectRef[Any] = self._actor.end.remote()
        return ref

    def abort(self) -> None:
        """Stop the current call before it enters a stage again."""
        request_stop_on_node(self.status_files)

    def kill(self) -> None:
        import ray

        ray.kill(self._actor)

    def explain_death(self, error: Exception) -> WorkerDeath:
        """Say why the worker died, after one of its calls raised `error`.

        Waits up to ten seconds for another machine; `request_crash_report` does not.
        """
        files = self.status_files
        is_alive = self._is_node_alive(files)
        report = fetch_crash_report(files) if files.node_id and is_alive else None
        return explain_death(report, error, node_is_alive=is_alive)

    def request_crash_report(self) -> "ObjectRef[CrashReport | None] | None":
        """Ask another machine what the dead worker left there; None if no other can be asked."""
        files = self.status_files
        if not files.node_id or is_on_this_machine(files) or not self._is_node_alive(files):
            return None
        ref: ObjectRef[CrashReport | None] = request_crash_report(files)
        return ref

    def explain_death_by(self, report: "CrashReport | None", error: Exception) -> WorkerDeath:
        """Say why the worker died, with the report that was requested, if one came."""
        is_alive = self._is_node_alive(self.status_files)
        return explain_death(report, error, node_is_alive=is_alive)

    def _is_node_alive(self, files: StatusFiles) -> bool:
        return not files.node_id or current_cluster().node(files.node_id) is not None


def _dumps(*arguments: Any) -> bytes:
    """Pickle the arguments of a call: Ray takes much longer for each that is not bytes."""
    return pickle.dumps(arguments, protocol=5)


class WorkerLauncher:
    """Starts the workers of one run, and removes their files afterwards."""

    def __init__(
        self, plan: Plan, run_token: str, *, folder: str | None = None, send_modules: bool = False
    ) -> None:
        """Pack the plan.

        `folder` is that of a private cluster. Give `send_modules` if workers may be on other
        machines, which do not have the modules beside the user's script.
        """
        import ray

        if problems := list(runtime_env_problems(plan)):
            raise PipelineError(problems)
        self.packer = PlanPacker(send_modules=send_modules)
        parent = folder or tempfile.gettempdir()
        self.folder = str(Path(parent, f"{RUN_FOLDER_PREFIX}{token_hex(8)}"))
        remove_abandoned_folders(parent)
        self._lock = FolderLock(self.folder)
        self._run_token = run_token
        self._search_path = search_path()
        self._actor_class = ray.remote(StageRunner)
        self._plan_ref = ray.put(self.packer.pack(plan))
        self._nodes: set[str] = set()

    def start(
        self,
        worker_id: str,
        resources: Resources,
        *,
        node: NodeFacts | None = None,
        runtime_env: Mapping[str, Any] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> WorkerHandle:
        """Start a worker with these resources, on `node` or wherever there is room.

        `options` are passed to Ray, and override ours.
        """
        wanted = {
            **actor_options(resources, node),
            "max_restarts": 0,
            "max_task_retries": 0,
            **({"runtime_env": dict(runtime_env)} if runtime_env else {}),
            **(options or {}),
        }
        assignment = Assignment(
            worker_id, self.folder, self._run_token, resources, self._search_path
        )
        actor = self._actor_class.options(**wanted).remote(assignment, self._plan_ref)
        handle = WorkerHandle(worker_id, actor, self.folder)
        if node is not None:
            self.set_node(handle, node.node_id)
        return handle

    def set_node(self, handle: WorkerHandle, node_id: str) -> None:
        """Record where a worker runs, once `ready` has said so."""
        handle.node_id = node_id
        self._nodes.add(node_id)

    def close(self) -> None:
        """Remove the run's files from all nodes. The workers must have ended."""
        self.packer.close()
        remove_folder_on_nodes(self.folder, self._nodes)
        self._lock.release()
