"""Writing a report: a page for people and the same as JSON, side by side."""

import json
import logging
from collections.abc import Mapping

from curator_core.errors import CuratorError
from curator_core.filesystems import StorageOptions, join, open_filesystem

from curator_dedup.reporting.pages import render
from curator_dedup.reporting.summaries import Subject, summary_of

PAGE, FIGURES = "duplicates.html", "duplicates.json"

_log = logging.getLogger("curator_core.dedup")


def report_in(folder: str, storage_options: StorageOptions | None = None) -> str | None:
    """The page that is in a folder already."""
    fs, root = open_filesystem(folder, dict(storage_options or {}))
    return join(folder, PAGE) if fs.exists(join(root, PAGE)) else None


def write_report(subject: Subject, counts: Mapping[str, int], folder: str) -> str | None:
    """Where the page is; None where it could not be written: it is a courtesy, no result."""
    try:
        summary = summary_of(subject, counts)
        if summary is None:
            return None
        text = json.dumps(summary.to_json(), indent=2, ensure_ascii=False)
        fs, root = open_filesystem(folder, dict(subject.storage_options or {}))
        fs.pipe_file(join(root, PAGE), render(summary).encode("utf-8", "replace"))
        fs.pipe_file(join(root, FIGURES), text.encode("utf-8", "replace"))
    except (CuratorError, OSError, ValueError) as error:
        _log.warning("the report on duplicates could not be written: %s", error)
        return None
    return join(folder, PAGE)
