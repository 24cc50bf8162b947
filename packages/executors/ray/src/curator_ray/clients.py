"""Clients: addresses that begin with ray://, behind which a server of Ray's client listens."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from curator_ray.errors import ClusterError
from curator_ray.tokens import PLACES, read_anew

SCHEME = "ray://"
USUAL_PORT = "10001"
_PATIENCE_S = 10.0


def is_connected() -> bool:
    """Whether a Ray that is initialised is none in this process."""
    from ray._private.worker import global_worker

    return not global_worker.connected


def present_address() -> str:
    """Where the client of this process is connected to."""
    from ray.util.client import ray as client

    worker: Any = client.get_context().client_worker  # type: ignore[no-untyped-call]
    return f"{SCHEME}{worker._conn_str}"  # noqa: SLF001 - nothing else tells


def check_installed(address: str) -> None:
    """Raise a ClusterError where Ray's client lacks what it speaks with."""
    try:
        import_module("grpc")
    except ImportError:
        raise ClusterError(
            f"{address} needs grpcio, which is not installed here: pip install 'ray[client]'"
        ) from None


def listens_at(address: str) -> bool:
    """Whether a server of Ray's client answers at `host:port`."""
    try:
        check_installed(address)
        return _knock(address)
    except ClusterError:
        return False


@contextmanager
def let_in(address: str) -> Iterator[None]:
    """Whether a client is let in at `ray://host:port`; with the token at hand, if one is wanted.

    Ray itself would keep on trying for half a minute, and then not say what is wrong.
    """
    with read_anew({}) as raylet:
        if _knock(address):
            yield
            return
        if not raylet.AuthenticationTokenLoader.instance().has_token(ignore_auth_mode=True):
            raise _lacks_token(address)
    with read_anew({"RAY_AUTH_MODE": "token"}):
        if not _knock(address):
            raise _lacks_token(address)
        yield


def _lacks_token(address: str) -> ClusterError:
    return ClusterError(
        f"the cluster at {address} wants a token that this process has not: {PLACES}"
    )


def _knock(address: str) -> bool:
    """Whether a server of Ray's client answers; False where it wants a token."""
    from ray._private.grpc_utils import init_grpc_channel

    # Compiled, or made by a generator: none of them says anything of its types.
    grpc: Any = import_module("grpc")
    letters: Any = import_module("ray.core.generated.ray_client_pb2")
    stubs: Any = import_module("ray.core.generated.ray_client_pb2_grpc")
    channel: Any = init_grpc_channel(address.removeprefix(SCHEME))
    ping = letters.ClusterInfoRequest(type=letters.ClusterInfoType.PING)
    try:
        stubs.RayletDriverStub(channel).ClusterInfo(ping, timeout=_PATIENCE_S)
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            return False
        raise ClusterError(
            f"what listens at {address} is no server of Ray's client ({error.code().name}); "
            "give its port (often 10001, and only there where the head has ray[client]), or "
            f"{address.removeprefix(SCHEME)} without {SCHEME} for that of Ray itself (often 6379)"
        ) from error
    finally:
        channel.close()
    return True
