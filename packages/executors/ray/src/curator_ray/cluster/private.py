"""Private clusters: for one process and its runs, on this machine, closed to others."""

import logging
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from curator_core.errors import reason_of
from curator_core.local.watchdog import WatchdogProcess

from curator_ray.cluster.auth import private_token
from curator_ray.cluster.minimal import fast_shutdown, minimal_nodes
from curator_ray.cluster.settings import block_sigterm, environment, loopback_only, quiet_ray
from curator_ray.compat import (
    PRIVATE_FOLDER_OPTION,
    SETTINGS,
    SETTINGS_WITHOUT_DASHBOARD,
    is_tested,
)
from curator_ray.errors import ClusterError
from curator_ray.temp_folders import FolderLock, remove_abandoned_folders

LOG = logging.getLogger("curator_core")

CLUSTER_FOLDER_PREFIX = "curator-ray-"

_DASHBOARD_MODULES = ("aiohttp", "aiohttp_cors", "opencensus", "opentelemetry")

TOKEN_FILE = "dashboard-token"
"""In the cluster's folder: what its dashboard asks a browser for."""

_KEEP_RECENT_S = 600.0
"""Folders that changed this recently may still belong to a working guard."""

_MAX_FOLDER_LENGTH = 40
"""Ray creates sockets in the folder, and a socket's path may have 107 characters."""

_ADDRESS = b"--gcs-address="
_LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class PrivateCluster:
    """Size and features of a private cluster; by default it gets all of this machine."""

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
            "dashboard_host": _LOOPBACK,
        }
        if self.object_store_gb is not None:
            options["object_store_memory"] = int(self.object_store_gb * 1e9)
        return {name: value for name, value in options.items() if value is not None}


class RunningCluster:
    """A private cluster that runs, and that this process is connected to."""

    def __init__(self, options: PrivateCluster, runtime_env: Mapping[str, Any] | None) -> None:
        if options.dashboard and not all(map(find_spec, _DASHBOARD_MODULES)):
            raise ClusterError("Ray's dashboard is not installed here: pip install 'ray[default]'")
        parent = _short_temp_folder()
        remove_abandoned_folders(parent, CLUSTER_FOLDER_PREFIX, _KEEP_RECENT_S)
        self.folder = tempfile.mkdtemp(prefix=CLUSTER_FOLDER_PREFIX, dir=parent)
        self._lock = FolderLock(self.folder, exists=True)
        self._guard = ClusterGuard(self.folder)
        try:
            self._thread = ParentThread(lambda: self._start(options, runtime_env))
        except BaseException as error:
            self._guard.finish()
            self._lock.release()
            if isinstance(error, Exception):
                what = f"no private Ray cluster could be started: {reason_of(error)}"
                raise ClusterError(f"{what}; {_hint(error)}") from error
            raise

    def end(self) -> None:
        import ray

        try:
            with quiet_ray(), fast_shutdown():
                ray.shutdown()
        finally:
            self._guard.finish()
            self._lock.release()
            self._thread.end()

    def _start(self, options: PrivateCluster, runtime_env: Mapping[str, Any] | None) -> None:
        variables = {**self._guard.environment, **_ray_environment(options)}
        with (
            environment(variables),
            loopback_only(),  # before Ray is imported
            private_token(),
            # Without `fast_shutdown`, Ray would wait seconds for processes that block SIGTERM.
            block_sigterm() if is_tested() else nullcontext(),
            quiet_ray(),
            nullcontext() if options.dashboard else minimal_nodes(),
        ):
            import ray

            arguments = {
                # Ray opens its folder to all users; the one around it stays closed.
                PRIVATE_FOLDER_OPTION: os.path.join(self.folder, "ray"),
                **options.ray_options(),
            }
            ray.init(
                address="local",
                runtime_env=dict(runtime_env) if runtime_env else None,
                log_to_driver=False,
                configure_logging=False,
                **arguments,
            )
            _warn_if_reachable(ray.nodes())  # type: ignore[no-untyped-call]
            if options.dashboard and (token := os.environ.get("RAY_AUTH_TOKEN")):
                Path(self.folder, TOKEN_FILE).write_text(token)


def _ray_environment(options: PrivateCluster) -> dict[str, str]:
    """Return environment variables for Ray's processes; the user's own values win."""
    settings = {**SETTINGS, **({} if options.dashboard else SETTINGS_WITHOUT_DASHBOARD)}
    chosen = {name: os.environ.get(name, value) for name, value in settings.items()}
    # The driver's RAY_ADDRESS must not lead its workers to another cluster.
    return {**chosen, **({"RAY_ADDRESS": ""} if "RAY_ADDRESS" in os.environ else {})}


def _warn_if_reachable(nodes: list[dict[str, Any]]) -> None:
    address = next((node["NodeManagerAddress"] for node in nodes), _LOOPBACK)
    if address != _LOOPBACK:
        LOG.warning(
            "the private Ray cluster listens at %s and not only at %s, because Ray was imported "
            "before; it asks for a token", address, _LOOPBACK,
        )  # fmt: skip


def _hint(error: Exception) -> str:
    if "minimum allowed" in str(error):
        return "give object_store_gb=0.08 or more"
    return "if a cluster runs already, set RAY_ADDRESS to its address"


def _short_temp_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _MAX_FOLDER_LENGTH or not os.path.isdir("/tmp") else "/tmp"


def private_cluster_addresses() -> set[str]:
    """Return the addresses of all private clusters on this machine (on Linux)."""
    found: set[str] = set()
    for command in _commands():
        if f"/{CLUSTER_FOLDER_PREFIX}".encode() in command:
            options = [part for part in command.split(b"\0") if part.startswith(_ADDRESS)]
            found.update(option.removeprefix(_ADDRESS).decode() for option in options)
    return found


def _commands() -> Iterator[bytes]:
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield file.read_bytes()
        except OSError:  # the process has ended, or is another user's
            continue


_GUARD_SCRIPT = """
import shutil
has_ended_well = sys.stdin.read()
for attempt in range(50):
    found = ours()
    if not found:
        break
    for process in found:
        end(os.kill, process)
    time.sleep(0.02)
shutil.rmtree(arguments[0], ignore_errors=True)
if not has_ended_well:
    try:
        print(arguments[1], file=sys.stderr, flush=True)
    except OSError:
        pass
"""
"""Looks several times, because a raylet may have started another worker in the meantime."""

_DRIVER_DIED = (
    "curator: the process that used a private Ray cluster ended without an error message: it was "
    "killed, or Ray ended it because part of the cluster died. Finished work is kept; run the same "
    "command again to resume"
)
"""Ray's library ends its process, without an exception, when the raylet has died."""


class ClusterGuard(WatchdogProcess):
    """Ends all processes of a private cluster, and removes its folder, when this process ends.

    If this process ends without calling `finish`, the guard prints a message instead. It finds the
    processes by a mark in their environment. Outside Linux, Ray's own reaper has to do.
    """

    def __init__(self, folder: str) -> None:
        super().__init__(_GUARD_SCRIPT, folder, _DRIVER_DIED)

    def finish(self) -> None:
        self.send_line("well")
        super().finish()


class ParentThread:
    """Calls `start` on a thread that lives until `end`.

    On Linux, Ray's processes end with the thread that started them. A run may be on a thread that
    ends while other runs still use the cluster.
    """

    def __init__(self, start: Callable[[], None]) -> None:
        self._start = start
        self._is_over = threading.Event()
        self._started: Future[None] = Future()
        if threading.current_thread() is threading.main_thread():  # lives long enough
            start()
            return
        threading.Thread(target=self._run, name="curator-ray-parent", daemon=True).start()
        self._started.result()

    def end(self) -> None:
        self._is_over.set()

    def _run(self) -> None:
        try:
            self._start()
        except BaseException as error:  # noqa: BLE001 - is raised on the thread that waits
            self._started.set_exception(error)
            return
        self._started.set_result(None)
        self._is_over.wait()
