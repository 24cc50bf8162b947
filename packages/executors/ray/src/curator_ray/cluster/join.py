"""Join a cluster that was started by somebody else."""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from curator_core.errors import reason_of

from curator_ray.cluster.auth import TOKEN_PLACES, matching_token, reloaded_auth
from curator_ray.cluster.private import CLUSTER_FOLDER_PREFIX
from curator_ray.cluster.settings import environment, quiet_ray
from curator_ray.compat import patched
from curator_ray.errors import ClusterError

_CONNECT_TIMEOUT_S = 5.0
_BORN_DEAD = ("Starting Ray client server failed", "psutil")
"""What a server of Ray's client says when the process that it forked for us died at once, as now
and then happens on a busy machine."""


def resolve_address(address: str) -> str:
    """The cluster at `address` with `auto` resolved, where something answers there."""
    if address == "auto":
        address = find_local_cluster()
    _find(address)
    return address


def join(address: str, runtime_env: Mapping[str, Any] | None) -> None:
    """Connect this process to the cluster at `address` (`host:port`, `ray://host:port`, `auto`)."""
    address = resolve_address(address)
    is_client = address.startswith(CLIENT_SCHEME)
    shows_token = authenticated_client if is_client else matching_token
    try:
        with environment({}), shows_token(address), quiet_ray():
            _connect(address, runtime_env)
    except ClusterError:
        raise
    except Exception as error:
        raise ClusterError(f"{describe_join_error(address, error)}: {_told(error)}") from error


def _connect(address: str, runtime_env: Mapping[str, Any] | None) -> None:
    import ray

    for is_last in (False, False, True):
        try:
            ray.init(
                address=address,
                runtime_env=dict(runtime_env) if runtime_env else None,
                log_to_driver=False,
                configure_logging=False,
            )
            return
        except ConnectionAbortedError as error:
            if is_last or not any(said in str(error) for said in _BORN_DEAD):
                raise


def leave() -> None:
    import ray

    with quiet_ray():
        ray.shutdown()


def _find(address: str) -> None:
    """Ask whether anything answers there; Ray itself would keep on trying for a minute."""
    host, separator, port = address.removeprefix(CLIENT_SCHEME).rpartition(":")
    if not separator or "://" in host or not port.isdigit():
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give host:port (often port 6379), "
            "ray://host:port (often port 10001), auto, or local for a private one"
        )
    if address.startswith(CLIENT_SCHEME):
        check_grpc_installed(address)
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({reason_of(error)}); check that it runs "
            "(`ray status`) and the address (RAY_ADDRESS), or give local for a private one"
        ) from error
    if port == CLIENT_PORT and CLIENT_SCHEME not in address and is_client_server(address):
        raise ClusterError(_lacks_scheme(address))


def _lacks_scheme(address: str) -> str:
    return (
        f"what listens at {address} is a server of Ray's client: give {CLIENT_SCHEME}{address}, "
        "or the port of Ray itself (often 6379)"
    )


def describe_join_error(address: str, error: Exception) -> str:
    """What Ray meant, and the way out."""
    said = str(error)
    if "ersion mismatch" in said:
        return (
            f"the cluster at {address} runs other versions of Python or Ray than this process, "
            "and Ray needs the same on both sides; use an environment that fits"
        )
    if _wants_a_token(error):
        return f"the cluster at {address} wants a token that this process has not: {TOKEN_PLACES}"
    if CLIENT_SCHEME not in address and is_client_server(address):
        return _lacks_scheme(address)
    return f"the Ray cluster at {address} cannot be joined"


def _wants_a_token(error: Exception) -> bool:
    return any(type(one).__name__ == "AuthenticationError" for one in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and those behind it: Ray wraps what matters up to three times."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _told(error: Exception) -> str:
    """All that Ray said, in one line: what matters is not always in the first."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:600]


CLIENT_SCHEME = "ray://"
CLIENT_PORT = "10001"
_PING_TIMEOUT_S = 10.0


def is_client_connected() -> bool:
    """Whether a Ray that is initialised is none in this process."""
    from ray._private.worker import global_worker

    return not global_worker.connected


def client_address() -> str:
    """Where the client of this process is connected to."""
    from ray.util.client import ray as client

    worker: Any = client.get_context().client_worker  # type: ignore[no-untyped-call]
    return f"{CLIENT_SCHEME}{worker._conn_str}"  # noqa: SLF001 - nothing else tells


def check_grpc_installed(address: str) -> None:
    """Raise a ClusterError where Ray's client lacks what it speaks with."""
    try:
        import_module("grpc")
    except ImportError:
        raise ClusterError(
            f"{address} needs grpcio, which is not installed here: pip install 'ray[client]'"
        ) from None


def is_client_server(address: str) -> bool:
    """Whether a server of Ray's client answers at `host:port`."""
    try:
        check_grpc_installed(address)
        return _knock(address)
    except ClusterError:
        return False


@contextmanager
def authenticated_client(address: str) -> Iterator[None]:
    """Whether a client is let in at `ray://host:port`; with the token at hand, if one is wanted.

    Ray itself would keep on trying for half a minute, and then not say what is wrong.
    """
    with reloaded_auth({}) as raylet:
        if _knock(address):
            yield
            return
        if not raylet.AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True):
            raise _lacks_token(address)
    with reloaded_auth({"RAY_AUTH_MODE": "token"}):
        if not _knock(address):
            raise _lacks_token(address)
        yield


def _lacks_token(address: str) -> ClusterError:
    return ClusterError(
        f"the cluster at {address} wants a token that this process has not: {TOKEN_PLACES}"
    )


def _knock(address: str) -> bool:
    """Whether a server of Ray's client answers; False where it wants a token."""
    from ray._private.grpc_utils import init_grpc_channel

    # Compiled, or made by a generator: none of them says anything of its types.
    grpc: Any = import_module("grpc")
    letters: Any = import_module("ray.core.generated.ray_client_pb2")
    stubs: Any = import_module("ray.core.generated.ray_client_pb2_grpc")
    channel: Any = init_grpc_channel(address.removeprefix(CLIENT_SCHEME))
    ping = letters.ClusterInfoRequest(type=letters.ClusterInfoType.PING)
    try:
        stubs.RayletDriverStub(channel).ClusterInfo(ping, timeout=_PING_TIMEOUT_S)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            return False
        raise ClusterError(
            f"what listens at {address} is no server of Ray's client ({error.code().name}); "
            "give its port (often 10001, and only there where the head has ray[client]), or "
            f"{address.removeprefix(CLIENT_SCHEME)} without {CLIENT_SCHEME} for that of "
            "Ray itself (often 6379)"
        ) from error
    finally:
        channel.close()
    return True


_ADDRESS = b"--gcs-address="


def find_local_cluster() -> str:
    """Where Ray says that one is; it may have ended without a word."""
    services = import_module("ray._private.services")
    try:
        with (
            environment({"RAY_ADDRESS": ""}),
            patched(services, "find_gcs_addresses", _without_private),
        ):
            return str(services.canonicalize_bootstrap_address("auto"))
    except ConnectionError as error:
        raise ClusterError(
            "no Ray cluster runs on this machine, which is what auto stands for; give its address "
            "as host:port (RAY_ADDRESS), or local for a private one"
        ) from error


def _without_private(find: Callable[[], Any]) -> Callable[[], dict[str, None]]:
    def find_others() -> dict[str, None]:
        private = private_cluster_addresses()
        return {address: None for address in find() if address not in private}

    return find_others


def private_cluster_addresses() -> set[str]:
    """Those of the private clusters here, told by the folder of their raylets (on Linux)."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended, or is not ours to look at
            command = process.read_bytes()
            if f"/{CLUSTER_FOLDER_PREFIX}".encode() in command:
                told = [part for part in command.split(b"\0") if part.startswith(_ADDRESS)]
                found.update(part.removeprefix(_ADDRESS).decode() for part in told)
    return found
