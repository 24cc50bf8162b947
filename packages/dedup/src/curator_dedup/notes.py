"""Notes: small facts that one pipeline finds out and the next one's listing reads.

They change with the input. As options of a stage they would make it a different pipeline, which a
run directory refuses.
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
    """Return the facts, or None if there is no note or it is incomplete."""
    fs, inner = open_filesystem(path, dict(storage_options or {}))
    try:
        return json.loads(fs.cat_file(inner))
    except (FileNotFoundError, ValueError):
        return None


def marker(path: str) -> FilePart:
    """Return a part to include in every task that is listed from intermediate files.

    An empty listing would look like an unmounted disk, and earlier results would stay.
    """
    return FilePart(path)
