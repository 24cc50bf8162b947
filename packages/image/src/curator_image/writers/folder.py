"""Writer for image folders: each image as a file, with its sidecars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa
from curator_core import FileGroup, FilePart
from curator_core.io.filesystems import join, local_path
from curator_core.io.writers import open_draft

from curator_image.writers.base import SampleWriter, metadata_lines, path_problem

_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 3840
"""Bytes that any file system accepts, minus room for the hidden name used while writing."""

_MAX_OBJECT_NAME_BYTES = 1024
"""Bytes that object stores accept in a name."""


@dataclass
class ImageFolderWriter(SampleWriter):
    """Write each image unchanged to a file named after its key.

    Each batch gets a folder. Records of dropped images go to JSON Lines files in `dropped_path`,
    without the images.
    """

    compressions: ClassVar[tuple[str, ...]] = ()

    @property
    def ending(self) -> str:
        return ".jsonl"

    @property
    def output_is_tree(self) -> bool:
        return True

    def write_samples(self, written: FileGroup, target: str, table: pa.Table) -> None:
        for key, files in self.sample_files(self._select_fields(table)):
            for number, (extension, data) in enumerate(files):
                with open_draft(
                    join(target, f"{key}.{extension}"), self._worker, self.storage_options
                ) as draft:
                    draft.file.write(data)
                    draft.items = int(number == 0)
                written.data.append(FilePart(draft.final, draft.size))
                written.staged = (*written.staged, draft.staged_file())

    def name_problem(self, target: str, key: str, extension: str) -> str | None:
        if problem := path_problem(key, extension):
            return problem
        parts = f"{key}.{extension}".split("/")
        if "" in parts or "." in parts:
            return "a part of it is empty"
        if max(len(part.encode()) for part in parts) > _MAX_NAME_BYTES:
            return f"a part of it is longer than {_MAX_NAME_BYTES} bytes"
        plain = local_path(target)
        path, max_bytes = (
            (target, _MAX_OBJECT_NAME_BYTES) if plain is None else (plain, _MAX_PATH_BYTES)
        )
        size = len(f"{path}/{key}.{extension}".encode())
        return f"its path is longer than {max_bytes:,} bytes" if size > max_bytes else None

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        """Write dropped records without their images, which are still at their source."""
        for table in tables:
            for line in metadata_lines(table):
                file.write(line + b"\n")
