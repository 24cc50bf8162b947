"""Serving metrics: one page for all runs of this process, for Prometheus to scrape.

The page is served until the process ends, so that the last figures of a run can be scraped. At
exit, a process waits a little for a scrape of the last figures, if it was scraped before.
"""

import atexit
import errno
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from curator_core.errors import CuratorError, PipelineError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem
from curator_core.logs import log
from curator_core.model.metrics_address import MetricsAddress
from curator_core.model.snapshot import Pulse

if TYPE_CHECKING:
    from curator_core.run.run import ActiveRun

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


def address_of(wish: MetricsAddress) -> Address | None:
    """Return the address to serve, None for no metrics; raise if the option is not valid."""
    if wish is None or wish is False:
        return None
    if wish is True:
        return Address(LOOPBACK, DEFAULT_PORT, is_fixed=False)
    host, _, port = str(wish).rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise PipelineError(
            f"metrics is {wish!r}, but must be true, a port (9464), or HOST:PORT (0.0.0.0:9464)"
        )
    return Address(host.strip("[]") or LOOPBACK, int(port), is_fixed=True)


class Page:
    """Serves the metrics of this process."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry

        from curator_core.metrics.collecting import Collected

        self.collected = Collected()
        self.served_at: list[Address] = []
        self.ended_at = 0.0
        self._registry = CollectorRegistry()
        self._registry.register(self.collected)
        atexit.register(self.wait_for_reader)

    def serve(self, wanted: Address) -> Address:
        """Listen at the address, unless this process already does."""
        for address in self.served_at:
            if address.host == wanted.host and not (wanted.is_fixed and address != wanted):
                return address
        for port in range(wanted.port, wanted.port + (1 if wanted.is_fixed else PORTS_TRIED)):
            address = Address(wanted.host, port, wanted.is_fixed)
            if self._listens(address):
                self.served_at.append(address)
                return address
        last = wanted.port + PORTS_TRIED - 1
        where = f"port {wanted.port}"
        if not wanted.is_fixed:
            where = f"each port from {wanted.port} to {last}"
        raise PortTakenError(
            f"metrics: {where} of {wanted.host} is taken; name another one "
            "(metrics=PORT, --metrics PORT), or none to get the next that is free"
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


Attach: TypeAlias = "Callable[[ActiveRun, StorageOptions | None], None]"


def metrics_at(wish: MetricsAddress) -> "Attach | None":
    """Start listening if metrics are wanted; return a function to call with each run.

    This is a separate step, because a port in use must be reported before a run touches anything.
    """
    wanted = address_of(wish)
    if wanted is None:
        return None
    page = _page()
    address = page.serve(wanted)
    return lambda run, options: _attach(run, page, address, options)


def _attach(
    run: "ActiveRun", page: Page, address: Address, storage_options: StorageOptions | None
) -> None:
    label = page.collected.label_for(run.plan.name)
    LOG.info("metrics of %s are at http://%s/metrics", label, address)

    def hear(event: dict[str, Any]) -> None:
        pulse: Pulse = event["pulse"]
        page.collected.take(label, pulse)
        if pulse.status != "running":
            page.ended_at = time.monotonic()
            if run.result.run_dir:
                _write(run.result.run_dir, label, pulse, storage_options)

    run.events.listen(hear, "pulse")


def _page() -> Page:
    if _Process.page is None:
        try:
            _Process.page = Page()
        except ModuleNotFoundError:
            raise PipelineError(
                "metrics need prometheus_client, which is not installed here: "
                "pip install 'curator-core[metrics]'"
            ) from None
    return _Process.page


def _write(run_dir: str, label: str, pulse: Pulse, storage_options: StorageOptions | None) -> None:
    """Write the last figures into the run directory, to be read after the process has ended."""
    from prometheus_client import CollectorRegistry, generate_latest

    from curator_core.metrics.collecting import Collected

    collected, registry = Collected(), CollectorRegistry()
    collected.take(label, pulse)
    registry.register(collected)
    try:
        fs, root = open_filesystem(run_dir, storage_options)
        fs.pipe_file(join(root, FILE), generate_latest(registry))
    except OSError as error:
        LOG.warning("the last metrics could not be written down: %s", error)
