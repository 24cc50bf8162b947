"""Joining a cluster that somebody else started: it is used, and never ended."""

import socket
from collections.abc import Iterator, Mapping
from typing import Any

from curator_core.failing import reason_of

from curator_ray.errors import ClusterError
from curator_ray.finding import somewhere_here
from curator_ray.settings import environment, undisturbed
from curator_ray.tokens import PLACES, token_at_hand
from curator_ray.warming import warming_up

_PATIENCE_S = 5.0


def found(address: str) -> str:
    """The cluster at `address` (`host:port` or `auto`) as `host:port`, where one answers there."""
    if "://" in address:
        raise no_client(address)
    if address == "auto":
        address = somewhere_here()
    _find(address)
    return address


def join(address: str, runtime_env: Mapping[str, Any] | None) -> None:
    """Connect this process to the cluster at `address` (`host:port` or `auto`)."""
    import ray

    address = found(address)
    try:
        with environment({}), token_at_hand(address), undisturbed(), warming_up():
            ray.init(
                address=address,
                runtime_env=dict(runtime_env) if runtime_env else None,
                log_to_driver=False,
                configure_logging=False,
            )
    except ClusterError:
        raise
    except Exception as error:
        raise ClusterError(f"{what_failed(address, error)}: {_told(error)}") from error


def leave() -> None:
    import ray

    with undisturbed():
        ray.shutdown()


def no_client(address: str) -> ClusterError:
    """Ray's client refuses generators, and a run would wait for ever for what it cannot carry."""
    return ClusterError(
        f"{address} is not possible: Ray's client cannot carry the streams of results that runs "
        "need; start the run on a machine of the cluster, with host:port of Ray itself (often "
        "port 6379) as RAY_ADDRESS, or send it there with `ray job submit`"
    )


def _find(address: str) -> None:
    """Ask whether anything answers there; Ray itself would keep on trying for a minute."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdigit():
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give host:port (often port 6379), "
            "auto, or local for a private one"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({reason_of(error)}); check that it runs "
            "(`ray status`) and the address (RAY_ADDRESS), or give local for a private one"
        ) from error


def what_failed(address: str, error: Exception) -> str:
    """What Ray meant, and the way out."""
    said = str(error)
    if "ersion mismatch" in said:
        return (
            f"the cluster at {address} runs other versions of Python or Ray than this process, "
            "and Ray needs the same on both sides; use an environment that fits"
        )
    if _wants_a_token(error):
        return f"the cluster at {address} wants a token that this process has not: {PLACES}"
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
