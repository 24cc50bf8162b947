"""Manifests for NeMo: `audio_filepath`, `duration`, `offset`, `text`, and other columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

import pyarrow as pa
from curator_core import JsonlWriter

from curator_audio.audio_batch import AUDIO, DURATION, OFFSET, PATH, TEXT

_FIRST = (PATH, OFFSET, DURATION, TEXT)


@dataclass
class ManifestWriter(JsonlWriter):
    """Write a manifest for each batch; recordings are not copied.

    The standard manifest columns come first. EncodedFile recordings are not written; SegmentWriter
    writes them as files.
    """

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        super().write([_sort_rows(table) for table in tables], file)


def _sort_rows(table: pa.Table) -> pa.Table:
    names = [name for name in table.column_names if name != AUDIO]
    return table.select(
        sorted(names, key=lambda n: _FIRST.index(n) if n in _FIRST else len(_FIRST))
    )
