"""The user's files: how many of each format, and which could not be recognized."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from curator_core.io.listing import FileFilter, find_files
from curator_core.model.formatting import count, counted, size
from curator_core.model.ids import fingerprint

from curator_cli.inspection.formats import (
    AUDIO,
    IMAGE,
    PLAIN,
    Format,
    extension_of,
    first_bytes,
    format_by_content,
    format_by_name,
    needs_a_look,
)

_MOST_LOOKED_AT = 8
"""Files of one extension that are opened to find out what they are."""


@dataclass
class FileGroup:
    """Files of one format."""

    format: Format
    sizes: dict[str, int] = field(default_factory=dict)
    """The files, with their sizes."""

    extensions: Counter[str] = field(default_factory=Counter)

    @property
    def paths(self) -> list[str]:
        return list(self.sizes)

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())

    @property
    def has_usual_names(self) -> bool:
        """Whether the reader finds all of these files in a folder without further options."""
        return all(extension.endswith(self.format.endings) for extension in self.extensions)

    def __str__(self) -> str:
        return f"{counted(len(self.sizes), self.format.name)}, {size(self.bytes)}"


@dataclass
class FoundFiles:
    """All files below a path."""

    path: str
    groups: list[FileGroup]
    """The largest first."""

    unknown: dict[str, list[str]]
    """Files of no known format, by extension."""

    sidecar_paths: set[str] = field(default_factory=set)
    total: int = 0


def find_input(path: str) -> FoundFiles:
    """List the files and recognize their formats. Opens only a few of them."""
    sizes = {part.path: part.size for part in find_files([path], FileFilter())}
    by_extension: dict[str, list[str]] = {}
    for file in sizes:
        by_extension.setdefault(extension_of(file), []).append(file)
    found = FoundFiles(path, [], {}, _sidecars(by_extension), len(sizes))
    groups: dict[str, FileGroup] = {}
    for extension, listed in by_extension.items():
        files = [file for file in listed if file not in found.sidecar_paths]
        known = _format_of(extension, files) if files else None
        if known is not None:
            group = groups.setdefault(known.name, FileGroup(known))
            group.sizes |= {file: sizes[file] for file in files}
            group.extensions[extension] += len(files)
        elif files:
            found.unknown[extension] = files
    found.groups = sorted(groups.values(), key=lambda group: -group.bytes)
    return found


def _format_of(extension: str, files: Sequence[str]) -> Format | None:
    named = format_by_name(files[0])
    if named is not None and not needs_a_look(extension):
        return named
    chosen = chosen_by_hash(files, _MOST_LOOKED_AT)
    found = Counter(kind for path in chosen if (kind := format_by_content(path)) is not None)
    if found:
        return found.most_common(1)[0][0]
    is_certain = extension.startswith((".jsonl", ".ndjson")) or any(map(_is_empty, chosen))
    return named if is_certain else None


def _is_empty(path: str) -> bool:
    """Return whether there is nothing to recognize: the reader will report it."""
    return not first_bytes(path)


def _sidecars(by_extension: dict[str, list[str]]) -> set[str]:
    """Return the .txt and .json files that have the name of a picture or a recording."""
    media = {
        _stem(file)
        for extension, files in by_extension.items()
        if extension in (*IMAGE.endings, *AUDIO.endings)
        for file in files
    }
    others = (file for extension in (*PLAIN.endings, ".json") for file in
              by_extension.get(extension, ()))  # fmt: skip
    return {file for file in others if _stem(file) in media}


def _stem(path: str) -> str:
    return path.rpartition(".")[0]


def chosen_by_hash(paths: Iterable[str], most: int) -> list[str]:
    """Choose files from all over the input, the same each time."""
    return nsmallest(most, paths, key=fingerprint)


def describe(found: FoundFiles) -> Iterator[str]:
    """Yield a line for each format, the largest first."""
    for group in found.groups:
        yield str(group)
    if found.sidecar_paths:
        yield f"{count(len(found.sidecar_paths))} .txt or .json beside pictures and recordings"
    for extension, files in found.unknown.items():
        yield f"{count(len(files))} {extension or 'without extension'}, not recognized"
