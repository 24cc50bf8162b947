"""Formats: choose the reader and the writer for input files."""

from importlib import import_module
from typing import Any

from curator_core import AnyStage, PipelineError
from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions
from curator_core.io.listing import Wanted, find_files

_READERS = {
    "webdataset": "curator_image.shards.reading:WebDatasetReader",
    "folder": "curator_image.folders.reading:ImageFolderReader",
    "parquet": "curator_image.parquet:ImageParquetReader",
}
_WRITERS = {
    "webdataset": "curator_image.shards.writing:WebDatasetWriter",
    "folder": "curator_image.folders.writing:ImageFolderWriter",
    "parquet": "curator_image.parquet:ParquetWriter",
}
FORMATS = tuple(_READERS)

_SHARDS = (".tar", ".tgz", ".tar.gz", ".tar.zst", ".tar.bz2", ".tar.xz")
_PARQUET = (".parquet", ".pq")


def format_of(paths: str | list[str], storage_options: StorageOptions | None = None) -> str:
    """Guess from the extension of the first file; single pictures count as a folder."""
    listed = [paths] if isinstance(paths, str) else paths
    try:
        first = next(find_files(listed, Wanted(), storage_options)).path.lower()
    except (InputError, StopIteration):
        first = listed[0].lower() if listed else ""
    if first.endswith(_SHARDS):
        return "webdataset"
    return "parquet" if first.endswith(_PARQUET) else "folder"


def reader_for(
    kind: str, paths: str | list[str], storage_options: StorageOptions | None
) -> AnyStage:
    made: AnyStage = _named(_READERS, kind)(paths, storage_options=storage_options or None)
    return made


def writer_for(kind: str, path: str, mode: str, storage_options: StorageOptions | None) -> AnyStage:
    made: AnyStage = _named(_WRITERS, kind)(
        path, mode=mode, storage_options=storage_options or None
    )
    return made


def _named(table: dict[str, str], kind: str) -> Any:
    if kind not in table:
        raise PipelineError(f"no format {kind!r}; there are {', '.join(table)}")
    module, _, name = table[kind].partition(":")
    return getattr(import_module(module), name)
