"""`curate doctor`: checks of the installation and hardware."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click
from curator_core.model.hardware import available_cpus, total_memory_gb, visible_gpus
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

from curator_cli.options import with_output
from curator_cli.output import Screen

if TYPE_CHECKING:
    from rich.table import Table

MIN_MEMORY_GB = 2.0
MIN_DISK_GB = 1.0
MIN_SHARED_GB = 0.25

_STYLES = {"ok": "green", "warn": "bold yellow", "note": "dim"}
_SIGNS = {"ok": "ok", "warn": "!!", "note": "--"}


@dataclass(frozen=True)
class Finding:
    """The result of one check, with advice if there is a problem."""

    name: str
    state: Literal["ok", "warn", "note"]
    message: str
    way_out: str = ""


@click.command()
@click.option("--strict", is_flag=True, help="Exit with 1 if there is a warning.")
@with_output
def doctor(screen: Screen, strict: bool) -> None:
    """Check your installation and hardware.

    Shows versions, CPUs, memory, GPUs, disks, executors and plugins.
    """
    findings = diagnose()
    warnings = [finding for finding in findings if finding.state == "warn"]
    screen.print_json({"well": not warnings, "findings": [asdict(finding) for finding in findings]})
    if not screen.as_json:
        screen.show(_findings_table(findings))
        screen.show(_summary_line(len(warnings)), style="bold yellow" if warnings else "bold green")
    if strict and warnings:
        raise click.exceptions.Exit(1)


def _findings_table(findings: list[Finding]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for finding in findings:
        message = Text(finding.message)
        if finding.way_out:
            message.append(f"\n→ {finding.way_out}", style=_STYLES[finding.state])
        sign = Text(_SIGNS[finding.state], style=_STYLES[finding.state])
        table.add_row(sign, Text(finding.name), message)
    return table


def _summary_line(warnings: int) -> str:
    from curator_core.model.formatting import counted

    return f"{counted(warnings, 'warning')}." if warnings else "No problems found."


def diagnose(plugins: Plugins | None = None) -> list[Finding]:
    """Run all checks. Imports nothing heavy."""
    found = installed_plugins() if plugins is None else plugins
    checks: list[Callable[[], Iterable[Finding]]] = [
        _python,
        _packages,
        _cpus,
        _memory,
        _gpus,
        _shared_memory,
        lambda: _folder("current folder", Path.cwd()),
        lambda: _folder("temporary folder", Path(tempfile.gettempdir())),
        lambda: _executors(found),
        lambda: _plugins(found),
    ]
    return [finding for check in checks for finding in check()]


def _python() -> Iterator[Finding]:
    yield Finding("Python", "ok", f"{platform.python_version()} at {sys.executable}")
    yield Finding("system", "ok", f"{platform.platform()}")


def _packages() -> Iterator[Finding]:
    ours = sorted(
        {f"{d.name} {d.version}" for d in distributions() if d.name.startswith("curator-")}
    )
    yield Finding("packages", "ok", ", ".join(ours))
    for name in ("pyarrow", "fsspec", "pydantic"):
        yield Finding(name, "ok", version(name))
    try:
        yield Finding("ray", "ok", version("ray"))
    except PackageNotFoundError:
        message = "not installed; needed only by executors on Ray"
        yield Finding("ray", "note", message, "pip install curator-streaming")


def _cpus() -> Iterator[Finding]:
    there, usable = os.cpu_count() or 1, available_cpus()
    quota = cpu_quota()
    if quota is not None and quota < usable:
        message = f"{quota:g} of {there}, the limit of this container, but {usable} are visible"
        way_out = f"runs start a worker per visible CPU; use --workers {max(1, int(quota))}"
        yield Finding("CPUs", "warn", message, way_out)
    else:
        yield Finding("CPUs", "ok", f"{usable} of {there} usable")


def cpu_quota(root: str = "/sys/fs/cgroup") -> float | None:
    """Return the number of CPUs that a container's quota allows; None if there is no limit."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            message = " ".join(Path(root, file).read_text().strip() for file in files)
            quota, period = message.split()
            if quota not in ("max", "-1"):
                return int(quota) / int(period)
        except (OSError, ValueError):  # another kind of container, or none
            continue
    return None


def _memory() -> Iterator[Finding]:
    total = total_memory_gb()
    free = _free_memory_gb()
    message = f"{total:.1f} GB" if free is None else f"{free:.1f} GB of {total:.1f} GB free"
    if min(total, total if free is None else free) < MIN_MEMORY_GB:
        yield Finding("memory", "warn", message, "use fewer workers, or close other programs")
    else:
        yield Finding("memory", "ok", message)


def _free_memory_gb() -> float | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(s.split()[1]) / 1e6 for s in lines if s.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None


def _gpus() -> Iterator[Finding]:
    gpus = visible_gpus()
    if gpus:
        yield Finding("GPUs", "ok", f"{len(gpus)} ({', '.join(gpus)})")
        return
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") is not None
    way_out = "unset CUDA_VISIBLE_DEVICES if there should be some" if hidden else ""
    yield Finding("GPUs", "note", "none; stages that ask for one cannot run here", way_out)


def _shared_memory() -> Iterator[Finding]:
    if not os.path.isdir("/dev/shm"):
        return
    usage = shutil.disk_usage("/dev/shm")
    message = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free"
    if usage.free / 1e9 < MIN_SHARED_GB:
        way_out = "Ray keeps its objects there; give a container more, as with --shm-size=2g"
        yield Finding("/dev/shm", "warn", message, way_out)
    else:
        yield Finding("/dev/shm", "ok", message)


def _folder(name: str, folder: Path) -> Iterator[Finding]:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"curate")
            file.flush()
    except OSError as error:
        message = f"{folder} is not writable: {error.strerror}"
        yield Finding(name, "warn", message, "allow writing there, or write elsewhere")
        return
    free = shutil.disk_usage(folder).free / 1e9
    message = f"{folder} is writable, {free:.1f} GB free"
    if free < MIN_DISK_GB:
        yield Finding(name, "warn", message, "free some space before a run fills the disk")
    else:
        yield Finding(name, "ok", message)


def _executors(plugins: Plugins) -> Iterator[Finding]:
    from curator_core.errors import CuratorError
    from curator_core.pipeline import choose_executor

    yield Finding("executors", "ok", ", ".join(plugins.executors) or "none")
    try:
        executor = choose_executor(None)
    except CuratorError as error:
        way_out = "unset or correct CURATOR_EXECUTOR, or install what is missing"
        yield Finding("runs on", "warn", str(error), way_out)
    else:
        yield Finding("runs on", "ok", f"{type(executor).__name__} ({executor.why_chosen})")


def _plugins(plugins: Plugins) -> Iterator[Finding]:
    for broken in plugins.broken:
        way_out = f"fix or uninstall {broken.distribution or broken.name}"
        yield Finding("plugin", "warn", str(broken), way_out)
    yield Finding("plugins", "ok", ", ".join(info.name for info in plugins.working))
