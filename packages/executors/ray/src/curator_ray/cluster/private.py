"""Start and end a private cluster on this machine."""

import os
import tempfile
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from curator_core.errors import reason_of
from curator_core.local.watchdog import WatchdogProcess

from curator_ray.cluster.auth import private_token
from curator_ray.cluster.minimal import fast_shutdown, minimal_nodes
from curator_ray.cluster.settings import block_sigterm, environment, loopback_only, quiet_ray
from curator_ray.errors import ClusterError
from curator_ray.temp_folders import FolderLock, remove_abandoned_folders

CLUSTER_FOLDER_PREFIX = "curator-ray-"
"""How the folder of a private cluster is called."""

_SPARED_S = 600.0
"""A cluster whose driver died is ended by its guard, which removes the folder, long before."""

_LONGEST_FOLDER = 40
"""Ray puts sockets below it, and the path of a socket may have 107 characters."""


@dataclass(frozen=True)
class PrivateCluster:
    """What a private cluster is to look like; by default it is as large as this machine."""

    cpus: int | None = None
    gpus: int | None = None
    object_store_gb: float | None = None
    custom: Mapping[str, float] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    dashboard: bool = False

    def ray_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {
            "num_cpus": self.cpus,
            "num_gpus": self.gpus,
            "resources": dict(self.custom) or None,
            "labels": dict(self.labels) or None,
            "include_dashboard": self.dashboard,
            "dashboard_host": "127.0.0.1",
        }
        if self.object_store_gb is not None:
            options["object_store_memory"] = int(self.object_store_gb * 1e9)
        return {name: value for name, value in options.items() if value is not None}


class RunningCluster:
    """A running private cluster. The driver, this process, is connected to it."""

    def __init__(
        self,
        wanted: PrivateCluster,
        runtime_env: Mapping[str, Any] | None,
    ) -> None:
        parent = _short_folder()
        remove_abandoned_folders(parent, CLUSTER_FOLDER_PREFIX, _SPARED_S)
        self.folder = tempfile.mkdtemp(prefix=CLUSTER_FOLDER_PREFIX, dir=parent)
        self._claim = FolderLock(self.folder, exists=True)
        self._guard = ClusterGuard(self.folder)
        is_trimmed = not wanted.dashboard
        tuned = {**_TUNED, **_UNRECORDED} if is_trimmed else _TUNED
        self._variables = {**self._guard.environment, **_only_here(), **_tuned(tuned)}
        try:
            self._keeper = ParentThread(lambda: self._start(wanted, runtime_env))
        except BaseException as error:
            self._guard.finish()
            self._claim.release()
            if isinstance(error, Exception):
                what = f"no private Ray cluster could be started: {reason_of(error)}"
                raise ClusterError(f"{what}; {_way_out(error)}") from error
            raise

    def _start(self, wanted: PrivateCluster, runtime_env: Mapping[str, Any] | None) -> None:
        import ray

        with (
            environment(self._variables),
            private_token(),
            loopback_only(),
            quiet_ray(),
            block_sigterm(),
            nullcontext() if wanted.dashboard else minimal_nodes(),
        ):
            ray.init(
                address="local",
                runtime_env=dict(runtime_env) if runtime_env else None,
                log_to_driver=False,
                configure_logging=False,
                # Ray opens its folder to everybody; the one around it stays closed.
                _temp_dir=os.path.join(self.folder, "ray"),
                **wanted.ray_options(),
            )

    def end(self) -> None:
        import ray

        try:
            with quiet_ray(), fast_shutdown():
                ray.shutdown()
        finally:
            self._guard.finish()
            self._claim.release()
            self._keeper.dismiss()


def _way_out(error: Exception) -> str:
    if "dashboard" in str(error):
        return "for a dashboard: pip install 'ray[default]'"
    if "minimum allowed" in str(error):
        return "give object_store_gb=0.08 or more"
    return "if a cluster runs already, set RAY_ADDRESS to its address"


def _only_here() -> dict[str, str]:
    """A worker of ours must not be led to another cluster by what was meant for its driver."""
    return {"RAY_ADDRESS": ""} if "RAY_ADDRESS" in os.environ else {}


_TUNED = {
    # Ray keeps a hundred objects that nobody needs, for up to a second: each may have megabytes.
    "RAY_free_objects_batch_size": "1",
    # Workers wait for their first call anyway: by then they have imported what hosts stages.
    "RAY_preload_python_modules": "curator_ray.worker.actor",
    # A part that is not there yet is looked for again after a second, though it comes at once.
    "RAY_raylet_client_connect_timeout_milliseconds": "10",
    "RAY_raylet_client_num_connect_attempts": "1000",
}

_UNRECORDED = {
    # Ten kilobytes for each call, in the process that holds the cluster together.
    "RAY_task_events_report_interval_ms": "0",
}
"""Where there is no dashboard, nobody looks at the history of calls that Ray keeps for it."""


def _tuned(wanted: Mapping[str, str]) -> dict[str, str]:
    """Settings of Ray that suit us better than its own; what the user has set stays."""
    return {name: os.environ.get(name, value) for name, value in wanted.items()}


def _short_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _LONGEST_FOLDER or not os.path.isdir("/tmp") else "/tmp"


_DUTY = """
import shutil
was_told = sys.stdin.read()
for attempt in range(50):
    found = ours()
    if not found:
        break
    for process in found:
        end(os.kill, process)
    time.sleep(0.02)
shutil.rmtree(arguments[0], ignore_errors=True)
if not was_told:
    try:
        print(arguments[1], file=sys.stderr, flush=True)
    except OSError:
        pass
"""

_LAST_WORDS = (
    "curator: the process that ran on a private Ray cluster ended without a word: it was killed, "
    "or Ray ended it because a part of the cluster had died. What its run has finished is kept; "
    "run the same command again to resume"
)
"""Ray's library ends its process, without an exception, where the raylet is gone."""


class ClusterGuard(WatchdogProcess):
    """Sees to it that nothing of a cluster, and nothing in its folder, outlives this process.

    Where that ends without having dismissed it, it says so in its place.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(_DUTY, folder, _LAST_WORDS)

    def finish(self) -> None:
        self.send_line("well")
        super().finish()


class ParentThread:
    """Calls `start` on a thread that stays until it is dismissed."""

    def __init__(self, start: Callable[[], None]) -> None:
        self._start = start
        self._is_over = threading.Event()
        self._started: Future[None] = Future()
        if threading.current_thread() is threading.main_thread():  # which stays anyway
            start()
            return
        threading.Thread(target=self._keep, name="curator-keeper", daemon=True).start()
        self._started.result()

    def dismiss(self) -> None:
        self._is_over.set()

    def _keep(self) -> None:
        try:
            self._start()
        except BaseException as error:  # noqa: BLE001 - it goes to the thread that waits for it
            self._started.set_exception(error)
            return
        self._started.set_result(None)
        self._is_over.wait()
