"""Formats: choose the reader and the writer for input files."""

from importlib import import_module
from typing import Any

from curator_core import AnyStage, PipelineError
from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions
from curator_core.io.listing import FileFilter, find_files

_READERS = {
    "webdataset": "curator_image.readers.webdataset:WebDatasetReader",
    "folder": "curator_image.readers.folder:ImageFolderReader",
    "parquet": "curator_image.readers.parquet:ImageParquetReader",
}
_WRITERS = {
    "webdataset": "curator_image.writers.webdataset:WebDatasetWriter",
    "folder": "curator_image.writers.folder:ImageFolderWriter",
    "parquet": "curator_core:ParquetWriter",
}
STORAGE_FORMATS = tuple(_READERS)

_SHARD_EXTENSIONS = (".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.bz2", ".tar.xz")
_PARQUET_EXTENSIONS = (".parquet", ".pq")


def detect_storage_format(
    paths: str | list[str], storage_options: StorageOptions | None = None
) -> str:
    """Guess from the extension of the first file; single pictures count as a folder."""
    listed = [paths] if isinstance(paths, str) else paths
    try:
        first = next(find_files(listed, FileFilter(), storage_options)).path.lower()
    except (InputError, StopIteration):
        first = listed[0].lower() if listed else ""
    if first.endswith(_SHARD_EXTENSIONS):
        return "webdataset"
    return "parquet" if first.endswith(_PARQUET_EXTENSIONS) else "folder"


def reader_for(
    kind: str, paths: str | list[str], storage_options: StorageOptions | None
) -> AnyStage:
    made: AnyStage = _load_class(_READERS, kind)(paths, storage_options=storage_options or None)
    return made


def writer_for(kind: str, path: str, mode: str, storage_options: StorageOptions | None) -> AnyStage:
    made: AnyStage = _load_class(_WRITERS, kind)(
        path, mode=mode, storage_options=storage_options or None
    )
    return made


def _load_class(table: dict[str, str], kind: str) -> Any:
    if kind not in table:
        raise PipelineError(f"unknown format {kind!r}; choose from {', '.join(table)}")
    module, _, name = table[kind].partition(":")
    return getattr(import_module(module), name)
