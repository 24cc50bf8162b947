"""Joining a cluster that somebody else started: it is used, and never ended."""

import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from curator_core.errors import reason_of

from curator_ray.clients import SCHEME, USUAL_PORT, check_installed, let_in, listens_at
from curator_ray.errors import ClusterError
from curator_ray.finding import somewhere_here
from curator_ray.settings import environment, undisturbed
from curator_ray.tokens import PLACES, token_at_hand
from curator_ray.warming import warming_up

_PATIENCE_S = 5.0
_BORN_DEAD = ("Starting Ray client server failed", "psutil")
"""What a server of Ray's client says when the process that it forked for us died at once, as now
and then happens on a busy machine."""


def found(address: str) -> str:
    """The cluster at `address` with `auto` resolved, where something answers there."""
    if address == "auto":
        address = somewhere_here()
    _find(address)
    return address


def join(address: str, runtime_env: Mapping[str, Any] | None, soon: Iterable[str] = ()) -> None:
    """Connect this process to the cluster at `address` (`host:port`, `ray://host:port`, `auto`)."""
    address = found(address)
    is_client = address.startswith(SCHEME)
    shows_token = let_in if is_client else token_at_hand
    warmed = nullcontext() if is_client else warming_up(soon)
    try:
        with environment({}), shows_token(address), undisturbed(), warmed:
            _connect(address, runtime_env)
    except ClusterError:
        raise
    except Exception as error:
        raise ClusterError(f"{what_failed(address, error)}: {_told(error)}") from error


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

    with undisturbed():
        ray.shutdown()


def _find(address: str) -> None:
    """Ask whether anything answers there; Ray itself would keep on trying for a minute."""
    host, separator, port = address.removeprefix(SCHEME).rpartition(":")
    if not separator or "://" in host or not port.isdigit():
        raise ClusterError(
            f"{address!r} is no address of a Ray cluster; give host:port (often port 6379), "
            "ray://host:port (often port 10001), auto, or local for a private one"
        )
    if address.startswith(SCHEME):
        check_installed(address)
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE_S).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({reason_of(error)}); check that it runs "
            "(`ray status`) and the address (RAY_ADDRESS), or give local for a private one"
        ) from error
    if port == USUAL_PORT and SCHEME not in address and listens_at(address):
        raise ClusterError(_lacks_scheme(address))


def _lacks_scheme(address: str) -> str:
    return (
        f"what listens at {address} is a server of Ray's client: give {SCHEME}{address}, or the "
        "port of Ray itself (often 6379)"
    )


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
    if SCHEME not in address and listens_at(address):
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
