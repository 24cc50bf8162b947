"""What a node is asked about itself. Travels there by value: it may know nothing of our packages.

So this module imports nothing of ours, and everything else inside of its functions.
"""

from typing import Any


def look_around(packages: tuple[str, ...]) -> dict[str, Any]:
    """The versions that this node runs, and the memory of its GPUs in GB."""
    import platform
    import sys
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = ""
    return {"versions": versions, "gpu_memory_gb": _gpu_memory_gb(), "executable": sys.executable}


def _gpu_memory_gb() -> list[float]:
    import subprocess

    command = ["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return [float(line) * 1024 * 1024 / 1e9 for line in told.stdout.split("\n") if line.strip()]
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
