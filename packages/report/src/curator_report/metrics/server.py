"""Serving metrics: one page for all runs of this process, for Prometheus to scrape.

The page is served until the process ends, so that the last figures of a run can be scraped. At
exit, a process waits a little for a scrape of the last figures, if it was scraped before.
"""

import atexit
import errno
import time
from contextlib import suppress
from dataclasses import dataclass

from curator_core import Observer, RunInfo, RunResult
from curator_core.errors import CuratorError, PipelineError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem
from curator_core.logs import log
from curator_core.model.snapshot import RunSnapshot

LOG = log()

DEFAULT_PORT = 9464
PORTS_TRIED = 16
LOOPBACK = "127.0.0.1"
LONGEST_WAIT_S = 20.0
FILE = "metrics.prom"


class PortTakenError(CuratorError, OSError):
    """The requested port is already in use."""


@dataclass(frozen=True)
class Address:
    host: str
    port: int
    is_fixed: bool

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def address_of(value: bool | int | str | None) -> Address | None:
    """Return the address to serve, None for no metrics; raise if the option is not valid."""
    if value is None or value is False:
        return None
    if value is True:
        return Address(LOOPBACK, DEFAULT_PORT, is_fixed=False)
    host, _, port = str(value).rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise PipelineError(
            f"metrics is {value!r}, but must be true, a port (9464), or HOST:PORT (0.0.0.0:9464)"
        )
    return Address(host.strip("[]") or LOOPBACK, int(port), is_fixed=True)


class Page:
    """Serves the metrics of this process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry

        from curator_report.metrics.collector import Collected

        self.collected = Collected()
        self.served_at: list[Address] = []
        self.ended_at = 0.0
        self._registry = CollectorRegistry()
        self._registry.register(self.collected)
        atexit.register(self.wait_for_reader)

    def serve(self, requested: Address) -> Address:
        """Listen at the address, unless this process already does."""
        for address in self.served_at:
            if address.host == requested.host and not (requested.is_fixed and address != requested):
                return address
        for port in range(
            requested.port, requested.port + (1 if requested.is_fixed else PORTS_TRIED)
        ):
            address = Address(requested.host, port, requested.is_fixed)
            if self._listens(address):
                self.served_at.append(address)
                return address
        last = requested.port + PORTS_TRIED - 1
        where = f"port {requested.port}"
        if not requested.is_fixed:
            where = f"each port from {requested.port} to {last}"
        raise PortTakenError(
            f"metrics: {where} of {requested.host} is taken; name another one "
            "(PrometheusMetrics(PORT), --metrics PORT), or none to get the next that is free"
        )

    def _listens(self, address: Address) -> bool:
        from prometheus_client import start_http_server

        try:
            start_http_server(address.port, address.host, self._registry)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise PipelineError(
                f"metrics: cannot listen at {address}: {error.strerror or error}"
            ) from error
        return True

    def wait_for_reader(self) -> None:
        """Wait until the last figures are scraped, if the page was scraped at all.

        The wait is based on the scrape interval, and limited to 20 seconds.
        """
        asked = self.collected.asked_at
        if not asked or not self.ended_at:
            return
        apart = asked[-1] - asked[0] if len(asked) > 1 else LONGEST_WAIT_S
        until = self.ended_at + min(1.5 * apart + 1.0, LONGEST_WAIT_S)
        with suppress(KeyboardInterrupt):
            while self.collected.asked_at[-1] < self.ended_at and time.monotonic() < until:
                time.sleep(0.05)


class _Process:
    page: Page | None = None


class PrometheusMetrics(Observer):
    """Serves metrics of runs to Prometheus, on a page that all runs of this process share.

    Without a port, it is the first free one from 9464 on. A port that is taken ends a run before it
    touches anything. The last figures are also written to `metrics.prom` in the run directory.
    """

    def __init__(self, port: int | None = None, host: str = LOOPBACK) -> None:
        is_fixed = port is not None
        self._wanted = Address(host, DEFAULT_PORT if port is None else port, is_fixed)
        self._labels: dict[RunInfo, str] = {}
        self._last: dict[RunInfo, RunSnapshot] = {}

    @classmethod
    def at(cls, address: bool | int | str) -> "PrometheusMetrics":
        """Return the observer for the value of `--metrics`: True, a port, or HOST:PORT."""
        requested = address_of(address)
        if requested is None:
            raise PipelineError("metrics is false: leave the observer out")
        return cls(requested.port if requested.is_fixed else None, requested.host)

    def prepare(self) -> None:
        self._address = _page().serve(self._wanted)

    def run_started(self, run: RunInfo) -> None:
        label = self._labels[run] = _page().collected.label_for(run.name)
        LOG.info("metrics of %s are at http://%s/metrics", label, self._address)

    def progress(self, run: RunInfo, snapshot: RunSnapshot) -> None:
        self._last[run] = snapshot
        _page().collected.take(self._labels[run], snapshot)
        if snapshot.status != "running":
            _page().ended_at = time.monotonic()

    def run_ended(self, run: RunInfo, result: RunResult) -> None:
        label, last = self._labels.pop(run), self._last.pop(run)
        if result.run_dir:
            _write(result.run_dir, label, last, run.storage_options)


def _page() -> Page:
    if _Process.page is None:
        try:
            _Process.page = Page()
        except ModuleNotFoundError:
            raise PipelineError(
                "metrics need prometheus_client, which is not installed here: "
                "pip install 'curator-report[metrics]'"
            ) from None
    return _Process.page


def _write(
    run_dir: str, label: str, snapshot: RunSnapshot, storage_options: StorageOptions | None
) -> None:
    """Write the last figures into the run directory, to be read after the process has ended."""
    from prometheus_client import CollectorRegistry, generate_latest

    from curator_report.metrics.collector import Collected

    collected, registry = Collected(), CollectorRegistry()
    collected.take(label, snapshot)
    registry.register(collected)
    try:
        fs, root = open_filesystem(run_dir, storage_options)
        fs.pipe_file(join(root, FILE), generate_latest(registry))
    except OSError as error:
        LOG.warning("the last metrics could not be written down: %s", error)
