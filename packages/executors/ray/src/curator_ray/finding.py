"""Finding: the cluster of this machine that `auto` stands for. Private ones are nobody else's."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from curator_ray.errors import ClusterError
from curator_ray.replacing import replaced
from curator_ray.settings import environment
from curator_ray.starting import PREFIX

_ADDRESS = b"--gcs-address="


def somewhere_here() -> str:
    """Where Ray says that one is; it may have ended without a word."""
    services = import_module("ray._private.services")
    try:
        with (
            environment({"RAY_ADDRESS": ""}),
            replaced(services, "find_gcs_addresses", _without_private),
        ):
            return str(services.canonicalize_bootstrap_address("auto"))
    except ConnectionError as error:
        raise ClusterError(
            "no Ray cluster runs on this machine, which is what auto stands for; give its address "
            "as host:port (RAY_ADDRESS), or local for a private one"
        ) from error


def _without_private(find: Callable[[], Any]) -> Callable[[], dict[str, None]]:
    def find_others() -> dict[str, None]:
        private = private_addresses()
        return {address: None for address in find() if address not in private}

    return find_others


def private_addresses() -> set[str]:
    """Those of the private clusters here, told by the folder of their raylets (on Linux)."""
    found: set[str] = set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended, or is not ours to look at
            command = process.read_bytes()
            if f"/{PREFIX}".encode() in command:
                told = [part for part in command.split(b"\0") if part.startswith(_ADDRESS)]
                found.update(part.removeprefix(_ADDRESS).decode() for part in told)
    return found
