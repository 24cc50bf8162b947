"""Writer for image folders: each image as a file, with its sidecars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa
from curator_core.io.atomic_write import writing
from curator_core.io.filesystems import join, local_path
from curator_core.model.files import FileGroup, FilePart

from curator_image.describing import descriptions
from curator_image.writing import SampleWriter, path_problem

_LONGEST_NAME = 255
_LONGEST_PATH = 3840
"""Bytes that any file system accepts, minus room for the hidden name used while writing."""

_LONGEST_OBJECT = 1024
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

    def write_samples(self, written: FileGroup, place: str, table: pa.Table) -> None:
        for key, files in self.sample_files(self._chosen(table)):
            for number, (ending, data) in enumerate(files):
                with writing(
                    join(place, f"{key}.{ending}"), self._worker, self.storage_options
                ) as draft:
                    draft.file.write(data)
                    draft.items = int(number == 0)
                written.data.append(FilePart(draft.final, draft.size))
                written.staged = (*written.staged, draft.finished())

    def name_problem(self, place: str, key: str, ending: str) -> str | None:
        if problem := path_problem(key, ending):
            return problem
        parts = f"{key}.{ending}".split("/")
        if "" in parts or "." in parts:
            return "a part of it is empty"
        if max(len(part.encode()) for part in parts) > _LONGEST_NAME:
            return f"a part of it is longer than {_LONGEST_NAME} bytes"
        plain = local_path(place)
        path, most = (place, _LONGEST_OBJECT) if plain is None else (plain, _LONGEST_PATH)
        size = len(f"{path}/{key}.{ending}".encode())
        return f"its path is longer than {most:,} bytes" if size > most else None

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        """Write dropped records without their images, which are still at their source."""
        for table in tables:
            for line in descriptions(table):
                file.write(line + b"\n")
