"""Starting a private cluster: for one process and its run, on this machine, closed to others."""

import os
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from curator_core.errors import reason_of

from curator_ray.errors import ClusterError
from curator_ray.guarding import ClusterGuard
from curator_ray.keeping import Keeper
from curator_ray.leftovers import Claim, remove_leftovers
from curator_ray.postponing import import_ray
from curator_ray.settings import deaf_to_sigterm, environment, loopback_only, undisturbed
from curator_ray.stems import Stem
from curator_ray.tokens import own_token, token_of_our_own
from curator_ray.trimming import ended_at_once, trimmed
from curator_ray.warming import warming_up

PREFIX = "curator-ray-"
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
    imports: tuple[str, ...] = ()
    """Modules that workers have imported before there is anything to do, each with one thread."""

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


class Started:
    """A running private cluster. The driver, this process, is connected to it."""

    def __init__(
        self,
        wanted: PrivateCluster,
        runtime_env: Mapping[str, Any] | None,
        soon: Iterable[str] = (),
    ) -> None:
        parent = _short_folder()
        remove_leftovers(parent, PREFIX, _SPARED_S)
        self.folder = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
        self._claim = Claim(self.folder, is_made=True)
        self._guard = ClusterGuard(self.folder)
        self._stem = Stem(self.folder, wanted.imports)
        is_trimmed = not wanted.dashboard
        tuned = {**_TUNED, **_UNRECORDED} if is_trimmed else _TUNED
        self._variables = {**self._guard.environment, **_only_here(), **_tuned(tuned)}
        try:
            if is_trimmed:  # ahead of all else, for it takes longest
                with environment({**self._variables, **own_token()}):
                    self._stem.start()
            self._keeper = Keeper(lambda: self._start(wanted, runtime_env, soon))
        except BaseException as error:
            self._stem.end()
            self._guard.finish()
            self._claim.release()
            if isinstance(error, Exception):
                what = f"no private Ray cluster could be started: {reason_of(error)}"
                raise ClusterError(f"{what}; {_way_out(error)}") from error
            raise

    def _start(
        self, wanted: PrivateCluster, runtime_env: Mapping[str, Any] | None, soon: Iterable[str]
    ) -> None:
        ray = import_ray()
        with (
            environment(self._variables),
            token_of_our_own(),
            loopback_only(),
            undisturbed(),
            deaf_to_sigterm(),
            nullcontext() if wanted.dashboard else trimmed(self._stem),
            warming_up(soon),
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
            with undisturbed(), ended_at_once():
                ray.shutdown()
        finally:
            self._stem.end()
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
    "RAY_preload_python_modules": "curator_ray.actors",
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
