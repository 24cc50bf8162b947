"""Every private name of Ray that we use, why, and what happens without it.

A private name may change in any version of Ray, so it is only used on versions that it was tested
on. On all others, Ray's public interface has to do: `PrivateName.get` returns None, `patched` does
nothing, and `without` says what users notice. Private names of Ray Data are in
`curator_ray_data.compat`.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

LOG = logging.getLogger("curator_core")

Versions = tuple[tuple[int, int], tuple[int, int]]
"""The first and the last version: major and minor."""

TESTED: Versions = ((2, 56), (2, 60))
"""`hatch run ray-versions` runs the first, the last, and one between them."""

F = Callable[..., Any]


@dataclass(frozen=True)
class PrivateName:
    """A private module, class, function or constant of Ray."""

    path: str
    """`module`, or `module:attribute.attribute`."""
    why: str
    without: str
    """What users notice on versions of Ray where the name is not used."""
    tested: Versions = TESTED

    def get(self) -> Any:
        """Return what it names; None if the installed version of Ray is not a tested one."""
        owner, attribute = self._owner()
        return getattr(owner, attribute, None) if attribute else owner

    @contextmanager
    def patched(self, make: Callable[[Any], Any]) -> Iterator[None]:
        """Replace what it names by `make(original)` for a while."""
        owner, attribute = self._owner()
        original = getattr(owner, attribute, None)
        if original is None:
            yield
            return
        setattr(owner, attribute, make(original))
        try:
            yield
        finally:
            setattr(owner, attribute, original)

    def _owner(self) -> tuple[Any, str]:
        module, _, attributes = self.path.partition(":")
        *outer, attribute = attributes.split(".")
        if not is_tested(self.tested):
            return None, attribute
        owner: Any = import_module(module)
        for name in outer:
            owner = getattr(owner, name, None)
        return owner, attribute


# Start of private clusters

_SLOWER_START = "private clusters start some seconds later"

LOG_MONITOR = PrivateName(
    "ray._private.node:Node.start_log_monitor",
    "starts a process that copies logs; we read them where they are",
    _SLOWER_START,
)
MONITOR = PrivateName(
    "ray._private.node:Node.start_monitor",
    "starts a process for autoscaling, which one machine does not need",
    _SLOWER_START,
)
API_SERVER = PrivateName(
    "ray._private.node:Node.start_api_server",
    "starts the dashboard's server, even if no dashboard is wanted",
    _SLOWER_START,
)
AGENT_COMMAND = PrivateName(
    "ray._private.services:_build_python_executable_command_memory_profileable",
    "starts the raylet's agents, which are not needed before a worker has a runtime_env",
    _SLOWER_START,
)
KILL_PROCESSES = PrivateName(
    "ray._private.node:Node.kill_all_processes",
    "asks processes to leave by SIGTERM, which those of private clusters never receive",
    "they receive it, so `timeout` and `scancel` end a private cluster before its run",
)
LISTENS_ON_NETWORK = PrivateName(
    "ray._private.ray_constants:ENABLE_RAY_CLUSTER",
    "is read from the environment when Ray is imported, which may have been long ago",
    "then a private cluster may listen on the network, protected by its token",
)

SETTINGS: Mapping[str, str] = {
    # Ray keeps a hundred unneeded objects for up to a second. Each of them may be large.
    "RAY_free_objects_batch_size": "1",
    # Workers wait for their first call anyway, so they import what it needs.
    "RAY_preload_python_modules": "curator_ray.worker.actor",
}
"""Settings of Ray's own processes. Ray ignores those that it does not know."""

SETTINGS_WITHOUT_DASHBOARD: Mapping[str, str] = {
    # Ray keeps a history of calls for the dashboard, 10 kB for each of them.
    "RAY_task_events_report_interval_ms": "0",
}

SPILL_SETTINGS = "RAY_object_spilling"
"""Settings that begin like this change where Ray spills."""

# Connections

SET_SIGTERM_HANDLER = PrivateName(
    "ray._private.utils:set_sigterm_handler",
    "has SIGTERM end this process at once and in silence, while `ray.init` or `shutdown` run",
    "SIGTERM does so during that second",
)
DEATH_MESSAGES = PrivateName(
    "ray._private.worker:print_to_stdstream",
    "prints a paragraph to stdout for each worker that died, which a run reports itself",
    "the paragraphs are printed",
)
FIND_CLUSTERS = PrivateName(
    "ray._private.services:find_gcs_addresses",
    "finds private clusters of other runs too, which the address `auto` must not mean",
    "`auto` may mean one of them",
)
RESOLVE_AUTO = PrivateName(
    "ray._private.services:canonicalize_bootstrap_address",
    "resolves `auto`, so that the address can be checked before Ray connects",
    "Ray tries for a minute to connect to a cluster that has ended",
)
_CLIENT_PING = "pings a Ray Client server (ray://), to report a precise error"
_NO_CLIENT_PING = "Ray tries to connect for half a minute, and gives no reason"
CLIENT_CHANNEL = PrivateName(
    "ray._private.grpc_utils:init_grpc_channel", _CLIENT_PING, _NO_CLIENT_PING
)
CLIENT_MESSAGES = PrivateName("ray.core.generated.ray_client_pb2", _CLIENT_PING, _NO_CLIENT_PING)
CLIENT_STUBS = PrivateName("ray.core.generated.ray_client_pb2_grpc", _CLIENT_PING, _NO_CLIENT_PING)
TOKEN_LOADER = PrivateName(
    "ray._raylet:AuthenticationTokenLoader",
    "keeps the first token that it reads, so a process could not change clusters",
    "a token is only shown if RAY_AUTH_MODE says so, and the same one to all clusters",
)
CONFIG = PrivateName("ray._raylet:Config", "keeps RAY_AUTH_MODE likewise", TOKEN_LOADER.without)
GCS_CLIENT = PrivateName(
    "ray._raylet:GcsClient",
    "is refused at once by a cluster that wants another token",
    "Ray tries for 20 s, with a line to stderr each time",
)

# Figures

CLUSTER_STATE = PrivateName(
    "ray._private.internal_api:get_state_from_address",
    "knows how much a cluster has spilled to disk",
    "0 is shown",
)
MEMORY_INFO = PrivateName(
    "ray._private.internal_api:get_memory_info_reply", CLUSTER_STATE.why, CLUSTER_STATE.without
)
FREE_RESOURCES = PrivateName(
    "ray._private.state:available_resources_per_node",
    "knows how many CPUs of a node other jobs have left",
    "we ask for fewer and fewer until Ray grants them",
)

# Autoscaling

_NO_AUTOSCALER = "a stage that no node can run is refused, also where an autoscaler runs"
INTERNAL_KV = PrivateName(
    "ray.experimental.internal_kv:_internal_kv_get",
    "has the status that an autoscaler (v1) writes, with its types of nodes",
    _NO_AUTOSCALER,
)
AUTOSCALER_STATUS = PrivateName(
    "ray.autoscaler.v2.sdk:get_cluster_status",
    "says which nodes an autoscaler (v2) has launched",
    _NO_AUTOSCALER,
)
CLUSTER_CONFIG = PrivateName(
    "ray._private.state:state.get_cluster_config",
    "has what each type of node brings, on services that report it",
    "any demand is accepted where an autoscaler runs",
)
AUTOSCALER_STATUS_KEY = "__autoscaling_status"
UNMANAGED_NODE_TYPE = "node_"
"""Names of types begin like this in the status of a cluster whose nodes were started by hand."""

PRIVATE_NAMES = tuple(value for value in globals().values() if isinstance(value, PrivateName))


def limit_stream(objects: int) -> Callable[[F], F]:
    """Have a generator method of an actor wait while this many of its objects are not taken.

    A Ray that does not know the option refuses it. Then generators run ahead of their readers.
    """
    import ray

    try:
        decorate: Any = ray.method(_generator_backpressure_num_objects=objects)
    except (AssertionError, TypeError, ValueError):
        return lambda method: method
    return cast(Callable[[F], F], decorate)


SHUTDOWN_METHOD = "__ray_shutdown__"
"""Ray calls it when the last handle of an actor goes out of scope.

A Ray that does not know it ends such an actor without tearing down its stages.
"""

PRIVATE_FOLDER_OPTION = "_temp_dir"
"""The option of `ray.init` for the folder of all of Ray's files. It is documented as unstable."""


def client_server(client: Any) -> str:
    """Return `host:port` that Ray's client is connected to; empty if this Ray does not say."""
    return str(getattr(client.get_context().client_worker, "_conn_str", ""))


@cache
def installed_version() -> str:
    try:
        return version("ray")
    except PackageNotFoundError:
        return ""


def is_tested(versions: Versions = TESTED) -> bool:
    """Whether the installed version of Ray is one of these."""
    try:
        major, minor = map(int, installed_version().split(".")[:2])
    except ValueError:
        return False
    first, last = versions
    return first <= (major, minor) <= last


@cache
def warn_if_untested() -> None:
    """Warn once if the installed version of Ray is not a tested one."""
    if not is_tested():
        first, last = (".".join(map(str, numbers)) for numbers in TESTED)
        LOG.warning(
            "Ray %s is not tested with this version of Curator (%s to %s are); private clusters "
            "start more slowly, and some errors are reported later and in Ray's words",
            installed_version() or "of an unknown version", first, last,
        )  # fmt: skip
