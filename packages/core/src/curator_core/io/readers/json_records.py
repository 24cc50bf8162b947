"""JSON records: parse many lines at once, and find the reasons for lines that fail."""

import json
import re
import secrets
from typing import Any, NamedTuple, TypeAlias

import orjson

from curator_core.io.readers.lines import MAX_LINE_BYTES, Lines

Record: TypeAlias = dict[str, Any]

MAX_KEYS = 10_000
"""Limit for the keys of one record and the columns of one batch."""

_BOM = b"\xef\xbb\xbf"
_SHOWN = 64 * 1024

# Separates the records of one parse. It is random, so a line cannot imitate it.
_MARK = secrets.randbelow(2**52) + 2**52
_SEPARATOR = b",%d," % _MARK


class BadLine(NamedTuple):
    """A line that is not a record: its number among the parsed lines (from 0), offset and reason.

    The column is not part of the reason, so that equal reasons can be counted together.
    """

    number: int
    offset: int
    reason: str
    text: bytes
    column: int | None = None


class Parsed(NamedTuple):
    records: list[Record]
    bad: list[BadLine]
    lines: int


class _Line(NamedTuple):
    number: int
    offset: int
    text: bytes


def parse_lines(lines: Lines) -> Parsed:
    """Return the records of some lines, in order. Empty lines are ignored."""
    if lines.too_long:
        reason = f"the line is longer than {MAX_LINE_BYTES // 2**20} MiB"
        return Parsed([], [BadLine(0, lines.offset, reason, lines.data)], 1)
    body = _body(lines)
    joined = body.replace(b"\n", _SEPARATOR)
    breaks = (len(joined) - len(body)) // (len(_SEPARATOR) - 1)  # faster than counting line breaks
    records = _parse_together(joined, breaks + 1)
    if records is not None:
        return Parsed(records, [], breaks + 1)
    bad: list[BadLine] = []
    return Parsed(_bisect(_split(body, lines.offset), bad), bad, breaks + 1)


def parse_line_by_line(lines: Lines, text_field: str | None = None) -> Parsed:
    """Parse line by line: keeps integers exact and rejects records that cannot be used."""
    body = _body(lines)
    bad = list(parse_lines(lines).bad)
    records = []
    for line in _split(body, lines.offset):
        for record in _parse_one(line, []):
            record = _with_exact_integers(line.text, record)
            reason = _problem(record, text_field)
            if reason is None:
                records.append(record)
            else:
                bad.append(BadLine(line.number, line.offset, reason, line.text[:_SHOWN]))
    return Parsed(records, sorted(bad), body.count(b"\n") + 1)


def _body(lines: Lines) -> bytes:
    """Return the lines without the final line end and without a byte order mark."""
    data = lines.data
    if lines.offset == 0 and data.startswith(_BOM):
        data = b"   " + data[len(_BOM) :]
    return data[:-1] if data.endswith(b"\n") else data


def _problem(record: Record, text_field: str | None) -> str | None:
    """Return why a record cannot be used, or None if it can."""
    if len(record) > MAX_KEYS:
        return f"it has {len(record):,} keys, more than {MAX_KEYS:,}"
    try:
        dump_json(record)
    except orjson.JSONEncodeError:
        return "nested too deeply: more than 250 levels"
    text = record.get(text_field) if text_field is not None else None
    if text is None or isinstance(text, str):
        return None
    return f"field {text_field!r} is {_article(text)}, but must be text"


_LONG = re.compile(rb"[0-9]{20}")
_DIGITS = bytes(0x30 if 0x30 <= byte <= 0x39 else 0x20 for byte in range(256))


def has_long_digits(data: bytes) -> bool:
    """Return whether there may be an integer of more than 64 bits. Fast, with false positives."""
    return data.translate(_DIGITS).find(b"0" * 20) >= 0


def _with_exact_integers(text: bytes, record: Record) -> Record:
    """Return the record with exact integers; orjson rounds those of more than 64 bits."""
    if not _LONG.search(text):
        return record
    try:
        exact: Record = json.loads(text)
    except (ValueError, RecursionError):  # more digits than Python accepts, or nested too deeply
        return record
    return exact


def dump_json(value: Any) -> str:
    """Return a value as JSON. orjson alone refuses integers of more than 64 bits."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError as error:
        if not str(error).startswith("Integer exceeds"):
            raise
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _parse_together(joined: bytes, count: int) -> list[Record] | None:
    """Return all records at once, or None unless every line is exactly one record."""
    try:
        values = orjson.loads(b"[" + joined + b"]")
    except orjson.JSONDecodeError:
        return None
    records = values[::2]
    marks = values[1::2]
    if len(records) != count or len(marks) != count - 1 or marks.count(_MARK) != len(marks):
        return None
    return records if set(map(type, records)) == {dict} else None


def _split(body: bytes, offset: int) -> list[_Line]:
    lines = []
    for number, text in enumerate(body.split(b"\n")):
        if text and not text.isspace():
            lines.append(_Line(number, offset, text))
        offset += len(text) + 1
    return lines


def _bisect(lines: list[_Line], bad: list[BadLine]) -> list[Record]:
    """Parse by bisection, so that a few bad lines cost only a few more parses."""
    if not lines:
        return []
    records = _parse_together(_SEPARATOR.join(line.text for line in lines), len(lines))
    if records is not None:
        return records
    if len(lines) == 1:
        return _parse_one(lines[0], bad)
    middle = len(lines) // 2
    return _bisect(lines[:middle], bad) + _bisect(lines[middle:], bad)


def _parse_one(line: _Line, bad: list[BadLine]) -> list[Record]:
    column = None
    try:
        value = orjson.loads(line.text)
    except orjson.JSONDecodeError as error:
        reason, column = _encoding_problem(line.text) or _syntax_problem(line.text, error)
    else:
        if isinstance(value, dict):  # too deeply nested to be parsed within the list
            return [value]
        reason = f"not a JSON object, but {_article(value)}"
    bad.append(BadLine(line.number, line.offset, reason, line.text[:_SHOWN], column))
    return []


_OTHER_FORMATS = {
    b"\x1f\x8b": "it is gzip data; give the file a name that ends in .gz",
    b"\x28\xb5\x2f\xfd": "it is zstd data; give the file a name that ends in .zst",
    b"BZh": "it is bzip2 data; give the file a name that ends in .bz2",
    b"\xfd7zXZ": "it is xz data; give the file a name that ends in .xz",
    b"PAR1": "it is a Parquet file; read it with a Parquet reader",
    b"\xff\xfe": "it is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)",
    b"\xfe\xff": "it is UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)",
}


_HEAD = rb"\"?[A-Za-z_\x80-\xff][\w\x80-\xff .-]{0,80}\"?"
_HEADS = re.compile(rb"%s(?:([,;\t])%s)(?:\1%s){0,500}" % (_HEAD, _HEAD, _HEAD))
"""Column names in the first line of a CSV file."""


def describe_other_format(beginning: bytes) -> str | None:
    """Return what a file with this beginning is, if it is a common mistake."""
    first, line_end, rest = beginning.partition(b"\n")
    if first.strip() in (b"[", b"[{"):
        return "it is one JSON list, not JSON Lines; make a line of each record (jq -c '.[]')"
    heads = _HEADS.fullmatch(first.removeprefix(_BOM).rstrip())
    if heads and line_end and not rest.lstrip().startswith(b"{"):
        kind, reader = ("tab-separated", "TsvReader") if heads[1] == b"\t" else ("CSV", "CsvReader")
        stage = f"text.{reader[:3].lower()}_reader"
        return f"it looks like {kind} values; read it with {stage} ({reader} of curator-text)"
    return next(
        (reason for sign, reason in _OTHER_FORMATS.items() if beginning.startswith(sign)), None
    )


_NO_NUMBERS = re.compile(rb"[\s:,\[](NaN|-?Infinity)\b")


def _syntax_problem(text: bytes, error: orjson.JSONDecodeError) -> tuple[str, int]:
    number = _NO_NUMBERS.search(text)
    if number and number.start(1) <= error.pos <= number.end(1):
        reason = f"{number[1].decode()} is not a JSON number; write null instead"
        return f"not JSON: {reason}", number.start(1) + 1
    return f"not JSON: {error.msg}", error.colno


def _encoding_problem(text: bytes) -> tuple[str, int] | None:
    try:
        text.decode()
    except UnicodeDecodeError as error:
        return f"not UTF-8: 0x{text[error.start]:02x}", error.start + 1
    return None


def _article(value: Any) -> str:
    names = {list: "a list", dict: "an object", str: "a string", bool: "a truth value",
             type(None): "null"}  # fmt: skip
    return names.get(type(value), "a number")
