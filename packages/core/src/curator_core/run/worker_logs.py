"""Worker logs: output that stages print in workers, kept in `logs/` of the run directory."""

import logging
import os
import time
from contextlib import suppress
from typing import Any

from curator_core.io.filesystems import is_local, join, open_filesystem
from curator_core.logs import log
from curator_core.model.secrets import redact

LOG = log()
SHOWN = log("curator_core.workers")
"""Logs each line at the level DEBUG: `curate run --logs` shows them."""

FOLDER = "logs"
MAX_BYTES = 256 << 20
"""Most bytes kept per run: printed output must not fill the disk."""

_OBJECT_BYTES = 1 << 20


class WorkerLogs:
    """Writes one file per worker; in parts on an object store, which cannot append.

    A failure to write is logged once: printed output never fails a run.
    """

    def __init__(self, run_dir: str, storage_options: dict[str, Any] | None = None) -> None:
        self._fs, root = open_filesystem(run_dir, storage_options)
        self._folder = join(root, FOLDER)
        self._is_local = is_local(self._fs)
        self._room = MAX_BYTES
        self._waiting: dict[str, bytearray] = {}
        self._name = f"{time.time():.0f}"
        self._parts = 0

    def add(self, worker_id: str, text: str) -> None:
        if self._room <= 0:
            return
        content = text.encode(errors="replace")
        self._room -= len(content)
        if self._room <= 0:
            content += f"\n[this run keeps no more than {MAX_BYTES:,} bytes]\n".encode()
        try:
            self._write(worker_id, content)
        except OSError as error:
            self._room = 0
            LOG.warning("output of workers is no longer kept: %s", error)

    def close(self) -> None:
        with suppress(OSError):
            for worker_id in list(self._waiting):
                self._put(worker_id)

    def _write(self, worker_id: str, content: bytes) -> None:
        if self._is_local:
            os.makedirs(self._folder, exist_ok=True)
            with open(os.path.join(self._folder, f"worker-{worker_id}.log"), "ab") as file:
                file.write(content)
            return
        waiting = self._waiting.setdefault(worker_id, bytearray())
        waiting += content
        if len(waiting) > _OBJECT_BYTES:
            self._put(worker_id)

    def _put(self, worker_id: str) -> None:
        content = bytes(self._waiting.pop(worker_id))
        name = f"worker-{worker_id}.{self._name}.{self._parts:04}.log"
        self._parts += 1
        self._fs.pipe_file(join(self._folder, name), content)


def log_worker_output(worker_id: str, text: str) -> None:
    """Log each line; of a line that was overwritten, like a progress bar, only its last state."""
    if SHOWN.isEnabledFor(logging.DEBUG):
        for line in text.split("\n"):
            last = line.rstrip("\r").rpartition("\r")[2]
            if last.strip():
                SHOWN.debug("worker %s: %s", worker_id, last)


def redact_output(text: str) -> str:
    """Return the text without secrets and with a final newline."""
    return redact(text if text.endswith("\n") else f"{text}\n")
