"""The latest pulse of a run, in a file of its run directory that is replaced: for who looks on."""

import time
from contextlib import suppress
from typing import Any

from curator_core.filesystems import is_local, join, open_filesystem
from curator_core.runs.lines import from_line, to_line
from curator_core.runs.permissions import replace_run_file
from curator_core.runs.pulses import Pulse

FILE = "latest.json"
HERE_EVERY_S, THERE_EVERY_S = 1.0, 10.0
"""On a disk, and where each time is a request that somebody may pay for."""


class Latest:
    """Writes the latest pulse now and then; a run that has ended says all in its `run.json`."""

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        self._fs, root = open_filesystem(run_dir, storage_options)
        self._path = join(root, FILE)
        self._is_local = is_local(self._fs)
        self._every_s = HERE_EVERY_S if self._is_local else THERE_EVERY_S
        self._next = 0.0

    def __call__(self, event: dict[str, Any]) -> None:
        pulse: Pulse = event["pulse"]
        now = time.monotonic()
        if now < self._next or pulse.status != "running":
            return
        self._next = now + self._every_s
        content = to_line(pulse.to_json())
        try:
            self._replace(content)
        except OSError:  # a full disk ends the run where data is lost by it, not here
            self._next = now + 10 * self._every_s

    def clear(self) -> None:
        """The run ends: make room on a disk that may be full, for what must be written then."""
        with suppress(OSError):
            self._fs.rm_file(self._path)

    def _replace(self, content: bytes) -> None:
        if not self._is_local:
            self._fs.pipe_file(self._path, content)
            return
        replace_run_file(self._path, content)


def read_latest(run_dir: str, storage_options: dict[str, Any] | None = None) -> Pulse | None:
    """None where there is none yet, or the run is of an earlier version."""
    fs, root = open_filesystem(run_dir, storage_options)
    try:
        return Pulse.from_json(from_line(fs.cat_file(join(root, FILE))))
    except (OSError, ValueError, KeyError, TypeError):
        return None
