"""Samples: read a column of numbers from files that an earlier run wrote."""

import gzip
import json
from pathlib import Path

from curator_core import InputError

_ENDINGS = (".parquet", ".jsonl", ".jsonl.gz")


def scores_in(path: str, column: str) -> list[float]:
    """Return the numbers in a column of a Parquet or JSONL file, or of a folder of such files."""
    place = Path(path)
    files = sorted(p for p in place.iterdir() if _is_data(p)) if place.is_dir() else [place]
    if not files:
        raise InputError(f"{path} holds no file that ends in {', '.join(_ENDINGS)}")
    found: list[float] = []
    for file in files:
        found += _parquet(file, column) if file.suffix == ".parquet" else _lines(file, column)
    return found


def _is_data(path: Path) -> bool:
    return path.name.endswith(_ENDINGS) and not path.name.startswith((".", "_"))


def _parquet(file: Path, column: str) -> list[float]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file, columns=[column])
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"cannot read {file}: {error}") from error
    if column not in table.column_names:
        raise InputError(f"{file} has no column {column!r}")
    try:
        return [float(score) for score in table[column].to_pylist() if score is not None]
    except (ValueError, TypeError) as error:
        raise InputError(f"cannot read scores from {file}: {error}") from error


def _lines(file: Path, column: str) -> list[float]:
    found = []
    try:
        raw = file.read_bytes()
        text = gzip.decompress(raw) if file.suffix == ".gz" else raw
        for line in text.splitlines():
            score = json.loads(line).get(column)
            if score is not None:
                found.append(float(score))
    except (OSError, EOFError, ValueError, AttributeError, TypeError) as error:
        raise InputError(f"cannot read scores from {file}: {error}") from error
    if not found:
        raise InputError(f"{file} has no number under {column!r}")
    return found
