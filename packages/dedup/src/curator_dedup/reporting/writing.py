"""Writing a report: a page for people, and the same as JSON."""

import json
from collections.abc import Callable
from typing import Any, Protocol

from curator_core.errors import CuratorError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem
from curator_core.logs import log

PAGE, FIGURES = "duplicates.html", "duplicates.json"

_log = log("curator_core.dedup")


class Told(Protocol):
    """The content of a page as plain data."""

    def to_json(self) -> dict[str, Any]: ...


def report_in(folder: str, storage_options: StorageOptions | None = None) -> str | None:
    """Return the page that already exists in a folder; None if there is none."""
    fs, root = open_filesystem(folder, dict(storage_options or {}))
    return join(folder, PAGE) if fs.exists(join(root, PAGE)) else None


def write_report(
    folder: str,
    told: Callable[[], tuple[Told, str] | None],
    storage_options: StorageOptions | None = None,
) -> str | None:
    """Write the report; return the path of its page, or None if it could not be written.

    A failure is only logged, because the report is not a result. `told` returns the facts and the
    page, or None if there is nothing to report.
    """
    try:
        facts = told()
        if facts is None:
            return None
        summary, page = facts
        text = json.dumps(summary.to_json(), indent=2, ensure_ascii=False)
        fs, root = open_filesystem(folder, dict(storage_options or {}))
        fs.pipe_file(join(root, PAGE), page.encode("utf-8", "replace"))
        fs.pipe_file(join(root, FIGURES), text.encode("utf-8", "replace"))
    except (CuratorError, OSError, ValueError) as error:
        _log.warning("the report on duplicates could not be written: %s", error)
        return None
    return join(folder, PAGE)
