"""Programs of the machine that we are measured against: ffmpeg and ffprobe, where they are."""

import shutil
import subprocess

from measuring.peers import PeerMissingError


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise PeerMissingError(f"there is no {name} on this machine; apt install ffmpeg")
    return found


def run(path: str, *arguments: str) -> bytes:
    """What it says, when it has ended well."""
    return subprocess.run([path, "-v", "error", *arguments], capture_output=True, check=True).stdout
