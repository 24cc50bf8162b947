"""Write a report: a page for people, and the same as JSON."""

import json
from collections.abc import Callable
from typing import Any, Protocol

from curator_core.errors import CuratorError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem
from curator_core.logs import log

PAGE, DATA = "duplicates.html", "duplicates.json"

_log = log("curator_core.dedup")


class ReportData(Protocol):
    """The content of a page as plain data."""

    def to_json(self) -> dict[str, Any]: ...


def existing_report(folder: str, storage_options: StorageOptions | None = None) -> str | None:
    """Return the page that already exists in a folder; None if there is none."""
    fs, root = open_filesystem(folder, dict(storage_options or {}))
    return join(folder, PAGE) if fs.exists(join(root, PAGE)) else None


def write_report(
    folder: str,
    render: Callable[[], tuple[ReportData, str] | None],
    storage_options: StorageOptions | None = None,
) -> str | None:
    """Write the report; return the path of its page, or None if it could not be written.

    A failure is only logged, because the report is not a result. `render` returns the data and the
    page, or None if there is nothing to report.
    """
    try:
        rendered = render()
        if rendered is None:
            return None
        data, page = rendered
        text = json.dumps(data.to_json(), indent=2, ensure_ascii=False)
        fs, root = open_filesystem(folder, dict(storage_options or {}))
        fs.pipe_file(join(root, PAGE), page.encode("utf-8", "replace"))
        fs.pipe_file(join(root, DATA), text.encode("utf-8", "replace"))
    except (CuratorError, OSError, ValueError) as error:
        _log.warning("the report on duplicates could not be written: %s", error)
        return None
    return join(folder, PAGE)
