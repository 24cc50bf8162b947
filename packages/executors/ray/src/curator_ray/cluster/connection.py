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
    CLIENT_SCHEME,
    client_address,
    is_client_connected,
    join,
    leave,
)
from curator_ray.cluster.private import PrivateCluster, RunningCluster
from curator_ray.cluster.settings import defer_signals, hide_death_messages
from curator_ray.errors import ClusterError

LOCAL = "local"


@dataclass(frozen=True)
class Connection:
    """How this process came to its cluster."""

    kind: Literal["found", "joined", "private"]
    address: str
    folder: str | None = None
    """Where a private cluster keeps its files; it is removed with the cluster."""

    has_dashboard: bool = False
    """Whether somebody may look at a private cluster in a browser."""

    is_client: bool = False
    """Whether only Ray's client leads there: what drives a run has to be sent to the cluster."""

    @property
    def why(self) -> str:
        """For the first line of a log."""
        if self.kind == "found":
            return "Ray was initialised already"
        if self.kind == "joined":
            return f"the cluster at {self.address}"
        return "a private cluster on this machine; set RAY_ADDRESS to use another"


class _Lease:
    """The one connection that a process can have, and how many are using it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.users = 0
        self.connection: Connection | None = None
        self.started: RunningCluster | None = None
        self._quiet = ExitStack()

    def open(
        self,
        address: str | None,
        private: PrivateCluster,
        runtime_env: Mapping[str, Any] | None,
    ) -> Connection:
        wanted = address or os.environ.get("RAY_ADDRESS") or LOCAL
        if self.connection is not None and not is_initialized():
            self.end()  # somebody called ray.shutdown() behind our back
        is_new = self.connection is None
        if is_new and is_initialized():
            self.connection = Connection(
                "found", _present_address(), is_client=is_client_connected()
            )
        elif self.connection is None and wanted == LOCAL:
            self.started = RunningCluster(private, runtime_env)
            address = _present_address()
            self.connection = Connection(
                "private", address, self.started.folder, has_dashboard=private.dashboard
            )
        elif self.connection is None:
            join(wanted, runtime_env)
            self.connection = Connection("joined", wanted, is_client=is_client_connected())
        if is_new and self.connection.kind != "found":  # else it is the caller's to say
            self._quiet.enter_context(hide_death_messages())
        _refuse_another(address, self.connection)
        return self.connection

    def end(self) -> None:
        connection, started = self.connection, self.started
        self.connection = self.started = None
        with self._quiet:
            if started is not None:
                started.end()
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
    """Be connected to a cluster for as long as it lasts.

    A Ray that the caller initialised is used first, then `address`, then RAY_ADDRESS; else a
    private cluster is started. Inside of another `connected` the same cluster is used, and the
    outermost one ends what it started: put it around several runs to start Ray only once.
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


def refuse_client(address: str | None, what: str) -> None:
    """Raise a ClusterError where `connected(address)` would have only Ray's client."""
    wanted = address or os.environ.get("RAY_ADDRESS") or LOCAL
    leads_to = _present_address() if is_initialized() else wanted
    if leads_to.startswith(CLIENT_SCHEME):
        raise ClusterError(
            f"{what} through {leads_to}; do it on a machine of the cluster, with host:port of Ray "
            "itself (often port 6379), or use run() here"
        )


def _present_address() -> str:
    import ray

    if is_client_connected():
        return client_address()
    return str(ray.get_runtime_context().gcs_address)


def _refuse_another(address: str | None, connection: Connection) -> None:
    """An address that was given on purpose must not be passed over in silence."""
    if address in (None, "auto", connection.address):
        return
    if address == LOCAL and connection.kind == "private":
        return
    raise ClusterError(
        f"this process is connected to {connection.address} already, and cannot use {address} too; "
        "call ray.shutdown() first, or leave the address out to use the one that is connected"
    )
