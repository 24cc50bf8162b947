"""Join a cluster that already runs: at host:port, ray://host:port, or auto."""

import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from curator_core.errors import reason_of

from curator_ray.cluster.auth import (
    has_token,
    matching_token,
    missing_token_error,
    reloaded_auth,
)
from curator_ray.cluster.private import private_cluster_addresses
from curator_ray.cluster.settings import environment, quiet_ray
from curator_ray.compat import (
    CLIENT_CHANNEL,
    CLIENT_MESSAGES,
    CLIENT_STUBS,
    FIND_CLUSTERS,
    RESOLVE_AUTO,
    client_server,
)
from curator_ray.errors import ClusterError

AUTO = "auto"
CLIENT_SCHEME = "ray://"
CLIENT_PORT = "10001"

_CONNECT_TIMEOUT_S = 5.0
_PING_TIMEOUT_S = 10.0
_CLIENT_SERVER_DIED = ("Starting Ray client server failed", "psutil")
"""The message if the server's process for us died at once, which happens on busy machines."""


def join(address: str, runtime_env: Mapping[str, Any] | None) -> None:
    """Connect this process to the cluster at `address`; never end that cluster."""
    address = resolve_address(address)
    with_token = authenticated_client if address.startswith(CLIENT_SCHEME) else matching_token
    try:
        with environment({}), with_token(address), quiet_ray():
            _connect(address, runtime_env)
    except ClusterError:
        raise
    except Exception as error:
        raise ClusterError(
            f"{describe_join_error(address, error)}: {_in_one_line(error)}"
        ) from error


def leave() -> None:
    import ray

    with quiet_ray():
        ray.shutdown()


def resolve_address(address: str) -> str:
    """Resolve `auto`, and raise a ClusterError if nothing answers at the address."""
    if address == AUTO:
        address = _find_local_cluster()
    if address != AUTO:
        _check_reachable(address)
    return address


def is_client_connected() -> bool:
    """Whether this process is connected through Ray's client."""
    from ray.util.client import ray as client

    return bool(client.is_connected())  # type: ignore[no-untyped-call]


def client_address() -> str:
    """Return the address of the client's server."""
    from ray.util.client import ray as client

    return f"{CLIENT_SCHEME}{client_server(client)}"


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
            if is_last or not any(phrase in str(error) for phrase in _CLIENT_SERVER_DIED):
                raise


def _find_local_cluster() -> str:
    """Resolve `auto`, without the private clusters of other processes."""
    resolve = RESOLVE_AUTO.get()
    if resolve is None:
        return AUTO
    try:
        with environment({"RAY_ADDRESS": ""}), FIND_CLUSTERS.patched(_without_private):
            return str(resolve(AUTO))
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


def _check_reachable(address: str) -> None:
    """Open a connection to the port; Ray itself would try for a minute."""
    host, separator, port = address.removeprefix(CLIENT_SCHEME).rpartition(":")
    if not separator or "://" in host or not port.isdigit():
        raise ClusterError(
            f"{address!r} is not the address of a Ray cluster; give host:port (often port 6379), "
            "ray://host:port (often port 10001), auto, or local for a private one"
        )
    if address.startswith(CLIENT_SCHEME):
        _check_grpc_installed(address)
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_TIMEOUT_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({reason_of(error)}); check that it runs "
            "(`ray status`) and the address (RAY_ADDRESS), or give local for a private one"
        ) from error
    if port == CLIENT_PORT and CLIENT_SCHEME not in address and is_client_server(address):
        raise ClusterError(_missing_scheme(address))


def describe_join_error(address: str, error: Exception) -> str:
    """Explain Ray's error, and what to do about it."""
    if "ersion mismatch" in str(error):
        return (
            f"the cluster at {address} runs other versions of Python or Ray than this process, "
            "and Ray needs the same on both sides; use an environment that fits"
        )
    if any(type(one).__name__ == "AuthenticationError" for one in _causes(error)):
        return str(missing_token_error(address))
    if CLIENT_SCHEME not in address and is_client_server(address):
        return _missing_scheme(address)
    return f"the Ray cluster at {address} cannot be joined"


def _missing_scheme(address: str) -> str:
    return (
        f"{address} is a Ray Client server: use {CLIENT_SCHEME}{address}, or the GCS port "
        "(usually 6379)"
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and those that caused it. Ray wraps the relevant one up to three times."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _in_one_line(error: Exception) -> str:
    """Return the whole message of Ray's error; its first line may lack the cause."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:600]


@contextmanager
def authenticated_client(address: str) -> Iterator[None]:
    """Show a token if the Ray Client server at `ray://host:port` wants one.

    Ray itself would try for half a minute, without naming the problem.
    """
    with reloaded_auth({}):
        if _ping(address):
            yield
            return
        if not has_token():
            raise missing_token_error(address)
    with reloaded_auth({"RAY_AUTH_MODE": "token"}):
        if not _ping(address):
            raise missing_token_error(address)
        yield


def is_client_server(address: str) -> bool:
    """Whether a Ray Client server answers at `host:port`; False if Ray is not a tested one."""
    try:
        _check_grpc_installed(address)
        return CLIENT_CHANNEL.get() is not None and _ping(address)
    except ClusterError:
        return False


def _check_grpc_installed(address: str) -> None:
    try:
        import_module("grpc")
    except ImportError:
        raise ClusterError(
            f"{address} needs grpcio, which is not installed here: pip install 'ray[client]'"
        ) from None


def _ping(address: str) -> bool:
    """Return False if a Ray Client server wants a token; raise if there is no such server.

    On untested versions of Ray the check is skipped, and Ray reports the error later.
    """
    open_channel = CLIENT_CHANNEL.get()
    if open_channel is None:
        return True
    grpc: Any = import_module("grpc")
    messages, stubs = CLIENT_MESSAGES.get(), CLIENT_STUBS.get()
    channel: Any = open_channel(address.removeprefix(CLIENT_SCHEME))
    ping = messages.ClusterInfoRequest(type=messages.ClusterInfoType.PING)
    try:
        stubs.RayletDriverStub(channel).ClusterInfo(ping, timeout=_PING_TIMEOUT_S)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            return False
        raise ClusterError(
            f"{address} is not a Ray Client server ({error.code().name}); "
            "give its port (often 10001, and only there where the head has ray[client]), or "
            f"{address.removeprefix(CLIENT_SCHEME)} without {CLIENT_SCHEME} for that of "
            "Ray itself (often 6379)"
        ) from error
    finally:
        channel.close()
    return True
