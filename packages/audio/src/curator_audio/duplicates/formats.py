"""Formats: choose the reader for input files by their names."""

from itertools import islice
from typing import Literal, TypeAlias

from curator_core import AnyStage, InputError
from curator_core.io.filesystems import StorageOptions
from curator_core.io.listing import Wanted, find_files

from curator_audio.reading.folders import ENDINGS, AudioFolderReader
from curator_audio.reading.manifests import ManifestReader

Format: TypeAlias = Literal["manifest", "folder"]

_FIRST = 1000
"""Number of files to look at; there may be millions."""

_MANIFESTS = (".json", ".jsonl", ".ndjson")
_PACKED = (".gz", ".zst", ".bz2", ".xz")


def format_of(paths: str | list[str], storage_options: StorageOptions | None = None) -> Format:
    """Detect the format by the extensions of the first files.

    Any audio file means "folder": a manifest stored next to recordings is ignored.
    """
    listed = [paths] if isinstance(paths, str) else paths
    try:
        found = find_files(listed, Wanted(), storage_options or None)
        names = [file.path.lower() for file in islice(found, _FIRST)]
    except InputError:
        names = listed
    if any(name.endswith(ENDINGS) for name in names):
        return "folder"
    return "manifest" if any(map(_is_manifest, names)) else "folder"


def _is_manifest(path: str) -> bool:
    name = path
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name.endswith(_MANIFESTS)


def reader_for(
    kind: str, paths: str | list[str], storage_options: StorageOptions | None
) -> AnyStage:
    reader = ManifestReader if kind == "manifest" else AudioFolderReader
    made: AnyStage = reader(paths, storage_options=storage_options or None)
    return made
