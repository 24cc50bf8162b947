"""Checks of the installation and hardware, for `curate doctor`."""

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path
from typing import Literal

from curator_core.local.machine import available_cpus, total_memory_gb, visible_gpus
from curator_core.plugins.registry import Plugins
from curator_core.plugins.registry import plugins as installed_plugins

LEAST_MEMORY_GB = 2.0
LEAST_DISK_GB = 1.0
LEAST_SHARED_GB = 0.25


@dataclass(frozen=True)
class Finding:
    """The result of one check, with advice if there is a problem."""

    name: str
    state: Literal["ok", "warn", "note"]
    said: str
    way_out: str = ""


def diagnose(plugins: Plugins | None = None) -> list[Finding]:
    """Run all checks. Imports nothing heavy."""
    found = installed_plugins() if plugins is None else plugins
    looks: list[Callable[[], Iterable[Finding]]] = [
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
    return [finding for look in looks for finding in look()]


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
        said = "not installed; only executors for clusters need it"
        yield Finding("ray", "note", said, "pip install curator-streaming")


def _cpus() -> Iterator[Finding]:
    there, usable = os.cpu_count() or 1, available_cpus()
    quota = cpu_quota()
    if quota is not None and quota < usable:
        said = f"{quota:g} of {there}, as this container allows, but {usable} are to be seen"
        way_out = f"runs start a worker for each they see; use --workers {max(1, int(quota))}"
        yield Finding("CPUs", "warn", said, way_out)
    else:
        yield Finding("CPUs", "ok", f"{usable} of {there} may be used")


def cpu_quota(root: str = "/sys/fs/cgroup") -> float | None:
    """Return the number of CPUs that a container's quota allows; None if there is no limit."""
    for files in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            said = " ".join(Path(root, file).read_text().strip() for file in files)
            quota, period = said.split()
            if quota not in ("max", "-1"):
                return int(quota) / int(period)
        except (OSError, ValueError):  # another kind of container, or none
            continue
    return None


def _memory() -> Iterator[Finding]:
    total = total_memory_gb()
    free = _free_memory_gb()
    said = f"{total:.1f} GB" + (f", {free:.1f} GB of it free" if free is not None else "")
    if min(total, total if free is None else free) < LEAST_MEMORY_GB:
        yield Finding("memory", "warn", said, "use fewer workers, or close other programs")
    else:
        yield Finding("memory", "ok", said)


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
    said = f"{usage.free / 1e9:.1f} GB of {usage.total / 1e9:.1f} GB free"
    if usage.free / 1e9 < LEAST_SHARED_GB:
        way_out = "Ray keeps its objects there; give a container more, as with --shm-size=2g"
        yield Finding("/dev/shm", "warn", said, way_out)
    else:
        yield Finding("/dev/shm", "ok", said)


def _folder(name: str, folder: Path) -> Iterator[Finding]:
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"curate")
            file.flush()
    except OSError as error:
        said = f"{folder} cannot be written to: {error.strerror}"
        yield Finding(name, "warn", said, "allow writing there, or write elsewhere")
        return
    free = shutil.disk_usage(folder).free / 1e9
    said = f"{folder} can be written to, {free:.1f} GB free"
    if free < LEAST_DISK_GB:
        yield Finding(name, "warn", said, "make room before a run fills the disk")
    else:
        yield Finding(name, "ok", said)


def _executors(plugins: Plugins) -> Iterator[Finding]:
    from curator_core.errors import CuratorError
    from curator_core.pipeline import chosen_executor

    yield Finding("executors", "ok", ", ".join(plugins.executors) or "none")
    try:
        executor, why = chosen_executor(None)
    except CuratorError as error:
        way_out = "unset or correct CURATOR_EXECUTOR, or install what is missing"
        yield Finding("runs on", "warn", str(error), way_out)
    else:
        yield Finding("runs on", "ok", f"{type(executor).__name__} ({why})")


def _plugins(plugins: Plugins) -> Iterator[Finding]:
    for broken in plugins.broken:
        way_out = f"mend or uninstall {broken.distribution or broken.name}"
        yield Finding("plugin", "warn", str(broken), way_out)
    yield Finding("plugins", "ok", ", ".join(info.name for info in plugins.working))
