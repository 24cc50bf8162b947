"""Rules for code by file extension, with limits from a table."""

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from curator_core import InputError
from curator_core.errors import hint

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter

_PLAIN = re.compile(r"[a-zA-Z0-9\n?!,.]")
_COLUMNS = ("language", "extension", "Include", "Long_line_threshold", "Alphanum_threshold",
            "Alpha filter")  # fmt: skip
_MEAN_LINE = 100
_SHORT_NAMES = {"C#": "c-sharp", "F#": "f-sharp"}


class _Limits(NamedTuple):
    """One row of the table; None means no limit."""

    include: bool
    longest_line: int | None
    alphanumeric: float | None
    alphabetic: float | None


@dataclass
class PerExtensionFilter(TextFilter):
    """Drops code files by limits for their language and file extension.

    If the table limits the longest line, the mean line length is limited to 100 characters too.
    Extensions missing from the table are dropped. The score is 1 for kept documents, otherwise 0.
    """

    lang: str
    """The language, as data sets name it: `C#`, `Python`."""

    extension: str
    """The file extension, as in the table; empty for files without one."""

    metadata_file: str = "code_meta.csv"
    """The table: a CSV file with the columns language, extension, Include, Long_line_threshold,
    Alphanum_threshold and `Alpha filter`. A value that is not a number means no limit."""

    @property
    def reason(self) -> str:
        return f"not code as {self.lang} in .{self.extension} is"

    def check(self) -> Iterable[str]:
        yield from super().check()
        try:
            table = _table(self.metadata_file)
        except InputError as error:
            yield str(error)
            return
        languages = {language for language, _ in table}
        if self._language not in languages:
            near = hint(self._language, languages)
            yield f"{self.metadata_file} has no limits for language {self._language!r}{near}"

    @property
    def _language(self) -> str:
        return _SHORT_NAMES.get(self.lang, self.lang.lower().replace(" ", "-"))

    def score(self, text: DocumentText) -> float:
        limits = _table(self.metadata_file).get((self._language, self.extension))
        return float(limits is not None and limits.include and not any(_broken(text, limits)))

    def keeps(self, score: float) -> bool:
        return score != 0


def _broken(text: str, limits: _Limits) -> Iterator[bool]:
    """Yield, for each limit, whether the text breaks it."""
    if limits.longest_line:
        lines = text.split("\n")
        yield max(map(len, lines)) > limits.longest_line
        yield (len(text) + 1) / len(lines) - 1 > _MEAN_LINE
    if limits.alphanumeric:
        yield len(_PLAIN.findall(text)) / len(text) < limits.alphanumeric
    if limits.alphabetic:
        yield sum(map(str.isalpha, text)) < limits.alphabetic * len(text)


@cache
def _table(path: str) -> dict[tuple[str, str], _Limits]:
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"the table {path} cannot be read: {error}") from None
    missing = [name for name in _COLUMNS if not rows or name not in rows[0]]
    if missing:
        raise InputError(f"the table {path} has no column {', '.join(missing)}")
    return {(row["language"], row["extension"]): _limits(row) for row in rows}


def _limits(row: dict[str, str]) -> _Limits:
    longest = _number(row["Long_line_threshold"])
    return _Limits(
        row["Include"] == "1",
        None if longest is None else int(longest),
        _number(row["Alphanum_threshold"]),
        _number(row["Alpha filter"]),
    )


def _number(cell: str | None) -> float | None:
    try:
        return float(cell or "")
    except ValueError:
        return None
