"""Connect to Ray: the caller's cluster, a given one, or a private one."""

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from curator_ray.cluster.auth import forget_tokens
from curator_ray.cluster.join import (
    AUTO,
    CLIENT_SCHEME,
    client_address,
    is_client_connected,
    join,
    leave,
)
from curator_ray.cluster.private import PrivateCluster, RunningCluster
from curator_ray.cluster.settings import defer_signals, hide_death_messages
from curator_ray.compat import warn_if_untested
from curator_ray.errors import ClusterError

LOCAL = "local"


@dataclass(frozen=True)
class Connection:
    """The cluster of this process, and how it was found."""

    kind: Literal["found", "joined", "private"]
    address: str
    folder: str | None = None
    """The folder of a private cluster, which is removed with it."""

    has_dashboard: bool = False
    """Whether a private cluster has Ray's dashboard."""

    is_client: bool = False
    """Whether it goes through Ray's client (ray://), so runs have to be driven on the cluster."""

    @property
    def why(self) -> str:
        """Why this cluster, as the first line of a log says it."""
        if self.kind == "found":
            return "Ray was initialised already"
        if self.kind == "joined":
            return f"the cluster at {self.address}"
        return "a private cluster on this machine; set RAY_ADDRESS to use another"


class _Lease:
    """The one connection that a process can have, shared by its users."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.connection: Connection | None = None
        self.running: RunningCluster | None = None
        self._quiet = ExitStack()

    def open(
        self,
        address: str | None,
        private: PrivateCluster,
        runtime_env: Mapping[str, Any] | None,
    ) -> Connection:
        warn_if_untested()
        wanted = address or os.environ.get("RAY_ADDRESS") or LOCAL
        if self.connection is not None and not is_initialized():
            self.end()  # ray.shutdown() was called elsewhere
        is_new = self.connection is None
        if is_new and is_initialized():
            self.connection = Connection(
                "found", _current_address(), is_client=is_client_connected()
            )
        elif self.connection is None and wanted == LOCAL:
            self.running = RunningCluster(private, runtime_env)
            address = _current_address()
            self.connection = Connection(
                "private", address, self.running.folder, has_dashboard=private.dashboard
            )
        elif self.connection is None:
            join(wanted, runtime_env)
            self.connection = Connection("joined", wanted, is_client=is_client_connected())
        if is_new and self.connection.kind != "found":  # a caller's Ray prints what it likes
            self._quiet.enter_context(hide_death_messages())
        _refuse_another(address, self.connection)
        return self.connection

    def end(self) -> None:
        connection, running = self.connection, self.running
        self.connection = self.running = None
        with self._quiet:
            if running is not None:
                running.end()
                forget_tokens()
            elif connection is not None and connection.kind == "joined":
                leave()
                forget_tokens()


_LEASE = _Lease()


@contextmanager
def connected(
    address: str | None = None,
    private: PrivateCluster | None = None,
    runtime_env: Mapping[str, Any] | None = None,
) -> Iterator[Connection]:
    """Connect to a cluster for the duration of the context.

    Use a Ray that the caller initialised, else `address`, else RAY_ADDRESS, else start a private
    cluster. A nested context uses the same cluster, and the outermost one ends what it started: put
    one around several runs to start Ray only once.
    """
    with _LEASE.lock:
        try:
            with defer_signals():
                connection = _LEASE.open(address, private or PrivateCluster(), runtime_env)
        except BaseException:
            if not _LEASE.users:
                _LEASE.end()
            raise
        _LEASE.users += 1
    try:
        yield connection
    finally:
        with _LEASE.lock:
            _LEASE.users -= 1
            if not _LEASE.users:
                _LEASE.end()


def is_initialized() -> bool:
    """Whether this process is connected to a cluster; does not import Ray."""
    # If another thread is importing Ray, import_module waits for it.
    return "ray" in sys.modules and bool(import_module("ray").is_initialized())


def private_folder() -> str | None:
    """Return the folder of the private cluster that this process started; None without one."""
    connection = _LEASE.connection
    return connection.folder if connection is not None else None


def refuse_client(address: str | None, what: str) -> None:
    """Raise a ClusterError if `connected(address)` would connect through Ray's client."""
    wanted = address or os.environ.get("RAY_ADDRESS") or LOCAL
    target = _current_address() if is_initialized() else wanted
    if target.startswith(CLIENT_SCHEME):
        raise ClusterError(
            f"{what} through {target}; do it on a machine of the cluster, with host:port of Ray "
            "itself (often port 6379), or use run() here"
        )


def _current_address() -> str:
    import ray

    if is_client_connected():
        return client_address()
    return str(ray.get_runtime_context().gcs_address)


def _refuse_another(address: str | None, connection: Connection) -> None:
    """Raise if the caller asks for another cluster than the one that is connected."""
    if address in (None, AUTO, connection.address):
        return
    if address == LOCAL and connection.kind == "private":
        return
    raise ClusterError(
        f"this process is connected to {connection.address} already, and cannot use {address} too; "
        "call ray.shutdown() first, or leave the address out to use the one that is connected"
    )
