"""Listing: find the files of paths, folders and glob patterns, in a stable order."""

import glob
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from curator_core.errors import InputError, NothingFoundError, nearest_file
from curator_core.io.filesystems import (
    StorageOptions,
    base_name,
    full_path,
    is_local,
    join,
    local_path,
    nearest_folder,
    open_filesystem,
)
from curator_core.model.files import FilePart

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


HIDDEN = (".", "_")


@dataclass(frozen=True)
class FileFilter:
    """File filters. Patterns match a file's name or its path within the folder."""

    extensions: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def accepts(self, relative: str, *, any_ending: bool = False) -> bool:
        if not (any_ending or relative.lower().endswith(self.extensions or "")):
            return False
        if self.include and not _matches(relative, self.include):
            return False
        return not _matches(relative, self.exclude)


def would_match(path: str, source: str, file_filter: FileFilter) -> bool:
    """Return whether a file at `path` would be found in `source`: a file, a folder or a pattern."""
    if not glob.has_magic(source):
        folder = f"{source.rstrip('/')}/"
        inside = path.removeprefix(folder)
        return path == source or (
            inside != path and not is_hidden(inside, "") and file_filter.accepts(inside)
        )
    inside = path[len(folder_above_wildcards(source)) :].lstrip("/")
    parts, patterns = path.split("/"), source.split("/")
    if is_hidden(inside, source):
        return False
    if _matches_parts(parts, patterns):
        return file_filter.accepts(inside, any_ending="." in base_name(source))
    folders = (at for at in range(1, len(parts)) if _matches_parts(parts[:at], patterns))
    return any(file_filter.accepts("/".join(parts[at:])) for at in folders)


def _matches_parts(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, *others = patterns
    if first == "**":
        return any(_matches_parts(parts[at:], others) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _matches_parts(parts[1:], others)


def folder_above_wildcards(pattern: str) -> str:
    """Return the folder above the first part of a pattern that has wildcards."""
    parts = pattern.split("/")
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:plain]) or "/"


def is_hidden(relative: str, pattern: str) -> bool:
    """Return whether a part of the path is hidden (`.` or `_`) and the pattern has no such part."""
    asked_for = {part[0] for part in pattern.split("/") if part.startswith(HIDDEN)}
    parts = (part for part in relative.split("/") if part)
    return any(part[0] in HIDDEN and part[0] not in asked_for for part in parts)


def _matches(relative: str, patterns: Iterable[str]) -> bool:
    name = base_name(relative)
    return any(fnmatchcase(relative, p) or fnmatchcase(name, p) for p in patterns)


_COUNTED = 10_000


@dataclass(frozen=True)
class _Entry:
    path: str
    is_folder: bool
    size: int = 0
    version: str = ""


def find_files(
    paths: Iterable[str], file_filter: FileFilter, storage_options: StorageOptions | None = None
) -> Iterator[FilePart]:
    """Yield every file once. At the end, raise NothingFoundError for paths without files."""
    given = sorted(set(paths))
    seen: set[str] = set()
    missing: list[str] = []
    for path in given:
        found = 0
        for part in _files_at(path, file_filter, storage_options):
            found += 1
            if len(given) > 1 or glob.has_magic(path):
                if part.path in seen:
                    continue
                seen.add(part.path)
            yield part
        if not found:
            missing.append(describe_missing(path, file_filter, storage_options))
    if missing:
        raise NothingFoundError("\n".join(missing))


def describe_missing(
    path: str, file_filter: FileFilter, storage_options: StorageOptions | None
) -> str:
    """Describe a path without matching files: the nearest existing folder and what it contains."""
    fs, inner = open_filesystem(path, storage_options)
    folder = nearest_folder(fs, folder_above_wildcards(inner) if _is_pattern(fs, inner) else inner)
    contents = _describe_contents(folder, storage_options)
    message = (
        f"no files match {path} (nearest existing folder: {folder}, with {contents})"
        f"{_similar_name(fs, folder, inner)}"
    )
    if fs.isdir(inner) and file_filter.extensions:
        message += f"; only names that end in {_endings(file_filter.extensions)} are read"
        message += (
            ": set file_extensions?" if not (file_filter.include or file_filter.exclude) else ""
        )
        message += _suggest_readers(inner, file_filter.extensions, storage_options)
    if fs.isdir(inner) and (file_filter.include or file_filter.exclude):
        message += "; check include and exclude"
    return message


def _similar_name(fs: "AbstractFileSystem", folder: str, path: str) -> str:
    """Suggest a name in the folder that is similar to the next part of the path."""
    here = (local_path(folder) or folder).rstrip("/")
    missing = path.removeprefix(f"{here}/").split("/")[0]
    if not is_local(fs) or glob.has_magic(missing):
        return ""
    close = nearest_file(missing, (base_name(entry.path) for entry in _entries(fs, here or "/")))
    return f" (did you mean {join(here, close)}?)" if close else ""


def _endings(extensions: Sequence[str]) -> str:
    """Return `.jsonl .json (or these with .gz .zst)`, because 17 extensions are unreadable."""
    single = [ending for ending in extensions if ending.count(".") == 1]
    double = dict.fromkeys(f".{e.rpartition('.')[2]}" for e in extensions if e not in single)
    more = f" (or these with {' '.join(double)})" if double and single else ""
    return " ".join(single or extensions) + more


def _describe_contents(folder: str, storage_options: StorageOptions | None) -> str:
    """Return the files directly in a folder, as `3 .csv and 1 .txt files`."""
    fs, inner = open_filesystem(folder, storage_options)
    try:
        names = [entry.path for entry in _entries(fs, inner)[:_COUNTED] if not entry.is_folder]
    except (InputError, OSError):
        return "files that may not be listed"
    endings = Counter(os.path.splitext(base_name(name))[1] or "unnamed" for name in names)
    counts = [f"{count} {ending}" for ending, count in endings.most_common(3)]
    more = len(names) - sum(count for _, count in endings.most_common(3))
    if more:
        counts.append(f"{more} other")
    return f"{' and '.join(counts)} file{'s' * (len(names) != 1)}" if counts else "no files"


_READERS = {
    ".csv": "text.csv_reader",
    ".tsv": "text.tsv_reader",
    ".txt": "text.text_reader",
    ".parquet": "core.parquet_reader",
    ".jsonl": "core.jsonl_reader",
}


def _suggest_readers(
    folder: str, extensions: Sequence[str], storage_options: StorageOptions | None
) -> str:
    """Name the stages that read files directly in a folder which have other extensions."""
    fs, inner = open_filesystem(folder, storage_options)
    try:
        names = [entry.path for entry in _entries(fs, inner)[:_COUNTED] if not entry.is_folder]
    except (InputError, OSError):
        return ""
    known = [f"{reader} reads {ending} files" for ending, reader in _READERS.items()
             if ending not in extensions
             and any(ending in os.path.splitext(base_name(name))[1] for name in names)]  # fmt: skip
    return f" ({', '.join(known)})" if known else ""


def _files_at(
    path: str, file_filter: FileFilter, storage_options: StorageOptions | None
) -> Iterator[FilePart]:
    fs, inner = open_filesystem(path, storage_options)
    if _is_pattern(fs, inner):
        yield from _files_matching(fs, inner, file_filter)
        return
    entry = _entry_of(fs, inner)
    if entry is None:
        return
    if entry.is_folder:
        yield from _files_in(fs, inner, file_filter)
    else:  # an explicitly named file is read, whatever its extension
        yield _part(fs, entry)


def _files_matching(
    fs: "AbstractFileSystem", pattern: str, file_filter: FileFilter
) -> Iterator[FilePart]:
    """Yield the files of a pattern. If it has an extension, that decides; folders are searched."""
    root = folder_above_wildcards(pattern)
    any_ending = "." in base_name(pattern)
    if is_local(fs):
        found = dict.fromkeys(glob.iglob(pattern, recursive=True))
    else:
        found = fs.glob(pattern, detail=True)
    for path in sorted(path for path in found if not is_hidden(path[len(root) :], pattern)):
        entry = _entry_of(fs, path, found[path])
        if entry is None:
            continue
        if entry.is_folder:
            yield from _files_in(fs, path, file_filter)
        elif file_filter.accepts(path[len(root) :].lstrip("/"), any_ending=any_ending):
            yield _part(fs, entry)


def _files_in(fs: "AbstractFileSystem", folder: str, file_filter: FileFilter) -> Iterator[FilePart]:
    """Yield the files below a folder, sorted by name, one folder at a time.

    fsspec's `find` would leave out folders that cannot be listed, without an error.
    """
    start = len(folder.rstrip("/")) + 1
    yield from (
        _part(fs, entry)
        for entry in _entries_below(fs, folder, frozenset())
        if file_filter.accepts(entry.path[start:])
    )


def _entries_below(
    fs: "AbstractFileSystem", folder: str, above: frozenset[str]
) -> Iterator[_Entry]:
    real = os.path.realpath(folder) if is_local(fs) else folder
    if real in above:  # a symlink to a parent folder
        return
    for entry in _entries(fs, folder):
        if base_name(entry.path).startswith(HIDDEN):
            continue
        if entry.is_folder:
            yield from _entries_below(fs, entry.path, above | {real})
        else:
            yield entry


def _entries(fs: "AbstractFileSystem", folder: str) -> list[_Entry]:
    if is_local(fs):
        return _local_entries(folder)
    try:
        listed = fs.ls(folder, detail=True)
    except PermissionError:
        raise _listing_forbidden(full_path(fs, folder)) from None
    entries = [_remote_entry(info) for info in listed if info["name"].rstrip("/") != folder]
    return sorted(entries, key=lambda entry: entry.path)


def _local_entries(folder: str) -> list[_Entry]:
    try:
        with os.scandir(folder) as found:
            listed = sorted(found, key=lambda entry: entry.name)
    except PermissionError:
        raise _listing_forbidden(folder) from None
    return [_Entry(entry.path, entry.is_dir()) for entry in listed]


def _listing_forbidden(folder: str) -> InputError:
    return InputError(f"cannot list folder {folder}: permission denied; allow reading it")


def _entry_of(
    fs: "AbstractFileSystem", path: str, listed: Mapping[str, Any] | None = None
) -> _Entry | None:
    """Return what is at a path. What a listing says is enough, but web servers list names only."""
    if is_local(fs):
        return _Entry(path, os.path.isdir(path)) if os.path.lexists(path) else None
    if listed is not None and listed.get("size") is not None:
        return _remote_entry(listed)
    try:
        return _remote_entry(fs.info(path))
    except FileNotFoundError:
        return None


def _remote_entry(info: Mapping[str, Any]) -> _Entry:
    version = next((str(info[fact]) for fact in _VERSIONS if info.get(fact)), "")
    size = int(info.get("size") or 0)
    return _Entry(str(info["name"]), info.get("type") == "directory", size, version)


_VERSIONS = ("ETag", "etag", "md5", "LastModified", "last_modified", "updated", "mtime", "created")


def _part(fs: "AbstractFileSystem", entry: _Entry) -> FilePart:
    if not is_local(fs):
        return FilePart(full_path(fs, entry.path), entry.size, entry.version)
    try:
        facts = os.stat(entry.path)
    except FileNotFoundError:  # a broken symlink or a removed file: the reader reports it
        return FilePart(entry.path)
    return FilePart(entry.path, facts.st_size, str(facts.st_mtime_ns))


def _is_pattern(fs: "AbstractFileSystem", path: str) -> bool:
    """Return whether a path is a pattern; names of existing files may contain wildcards, too."""
    return glob.has_magic(path) and not fs.exists(path)


def is_readable(path: str) -> bool:
    """Return whether permissions allow reading a local file."""
    plain = local_path(path)
    if plain is None or not os.path.exists(plain):
        return True
    return os.access(plain, os.R_OK, effective_ids=os.access in os.supports_effective_ids)
