"""Costs of what core does with untrusted text, see `costkit`."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from costkit import check_cost
from curator_core.errors import CuratorError
from curator_core.io.http import loggable_url
from curator_core.io.listing import FileFilter
from curator_core.io.readers.json_records import parse_lines
from curator_core.io.readers.lines import Lines
from curator_core.io.record_paths import check_record_path
from curator_core.io.writers.base import folder_of
from curator_core.logs import visible
from curator_core.model.secrets import mask_argument, redact

WANTED = FileFilter((".jsonl",), ("*a*b*.json*",), ("*c*d*",))


def _path(text: str) -> None:
    with suppress(CuratorError):
        check_record_path(text)


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "secrets": redact,
    "arguments": mask_argument,
    "visible text": visible,
    "JSON lines": lambda text: parse_lines(Lines(text.encode())),
    "URLs": loggable_url,
    "paths in records": _path,
    "names of files": WANTED.accepts,
    "names of folders": folder_of,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_take_time_in_proportion_to_the_text(name: str) -> None:
    check_cost(FUNCTIONS[name])
