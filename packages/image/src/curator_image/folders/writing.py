"""Writing folders: each image a file of its own, with what lay beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO, ClassVar

import pyarrow as pa
from curator_core.errors import InputError
from curator_core.files import FileGroup, FilePart
from curator_core.filesystems import join
from curator_core.staging import writing

from curator_image.describing import descriptions
from curator_image.writing import SampleWriter, is_safe


@dataclass
class ImageFolderWriter(SampleWriter):
    """Writes each image to a file named after its key, byte for byte, in a folder for each batch.

    What stages drop goes to files of JSON lines in `dropped_path`, without the images themselves.
    """

    compressions: ClassVar[tuple[str, ...]] = ()

    @property
    def ending(self) -> str:
        return ".jsonl"

    @property
    def output_is_tree(self) -> bool:
        return True

    def write_samples(self, written: FileGroup, place: str, table: pa.Table) -> None:
        chosen = table if self.fields is None else table.select(self.fields)
        for key, files in self.sample_files(chosen):
            if not is_safe(key):
                raise InputError(f"key {key!r} would lead out of the folder; give it another")
            for number, (ending, data) in enumerate(files):
                with writing(
                    join(place, f"{key}.{ending}"), self._worker, self.storage_options
                ) as draft:
                    draft.file.write(data)
                    draft.items = int(number == 0)
                written.data.append(FilePart(draft.final, draft.size))
                written.staged = (*written.staged, draft.finished())

    def write(self, tables: Sequence[pa.Table], file: BinaryIO) -> None:
        """What was dropped: everything but the images, which stay where they came from."""
        for table in tables:
            for line in descriptions(table):
                file.write(line + b"\n")
