"""Notes: small facts that one pipeline finds out and the next one's listing reads.

They change with the input. As options of a stage they would make it another pipeline, which a run
directory refuses.
"""

import json
from typing import Any

from curator_core import FilePart
from curator_core.io.filesystems import StorageOptions, open_filesystem


def write_note(path: str, facts: Any, storage_options: StorageOptions | None = None) -> None:
    fs, inner = open_filesystem(path, dict(storage_options or {}))
    fs.makedirs(inner.rpartition("/")[0], exist_ok=True)
    fs.pipe_file(inner, json.dumps(facts).encode())


def read_note(path: str, storage_options: StorageOptions | None = None) -> Any:
    """None, where there is none, or where it was not written to its end."""
    fs, inner = open_filesystem(path, dict(storage_options or {}))
    try:
        return json.loads(fs.cat_file(inner))
    except (FileNotFoundError, ValueError):
        return None


def marker(path: str) -> FilePart:
    """A part of every task that is listed from files in between. A listing of nothing at all would
    be taken for a disk that is not there, and what was made before would stay."""
    return FilePart(path)
