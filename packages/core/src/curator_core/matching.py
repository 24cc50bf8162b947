"""Matching: paths against glob patterns, also paths where nothing is yet."""

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from curator_core.filesystems import base_name

HIDDEN = (".", "_")


@dataclass(frozen=True)
class Wanted:
    """Which of the files in a folder are meant. Patterns see a file's name and its path inside."""

    extensions: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def accepts(self, relative: str, *, any_ending: bool = False) -> bool:
        if not any_ending and self.extensions and not self._has_ending(relative):
            return False
        if self.include and not _matches(relative, self.include):
            return False
        return not _matches(relative, self.exclude)

    def _has_ending(self, path: str) -> bool:
        return path.lower().endswith(self.extensions)


def would_find(path: str, source: str, wanted: Wanted) -> bool:
    """Whether a file at `path` would be found in `source`: a file, a folder or a pattern."""
    if not glob.has_magic(source):
        folder = f"{source.rstrip('/')}/"
        inside = path.removeprefix(folder)
        return path == source or (
            inside != path and not is_hidden(inside, "") and wanted.accepts(inside)
        )
    inside = path[len(without_magic(source)) :].lstrip("/")
    parts, patterns = path.split("/"), source.split("/")
    if is_hidden(inside, source):
        return False
    if _fits(parts, patterns):
        return wanted.accepts(inside, any_ending="." in base_name(source))
    folders = (at for at in range(1, len(parts)) if _fits(parts[:at], patterns))
    return any(wanted.accepts("/".join(parts[at:])) for at in folders)


def _fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, *others = patterns
    if first == "**":
        return any(_fits(parts[at:], others) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _fits(parts[1:], others)


def without_magic(pattern: str) -> str:
    """The folder above the first part of a pattern that has stars or brackets in it."""
    parts = pattern.split("/")
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return "/".join(parts[:plain]) or "/"


def is_hidden(relative: str, pattern: str) -> bool:
    """Whether a name on the way begins with `.` or `_`, and the pattern does not ask for that."""
    asked_for = {part[0] for part in pattern.split("/") if part.startswith(HIDDEN)}
    parts = (part for part in relative.split("/") if part)
    return any(part[0] in HIDDEN and part[0] not in asked_for for part in parts)


def _matches(relative: str, patterns: Iterable[str]) -> bool:
    name = base_name(relative)
    return any(fnmatchcase(relative, p) or fnmatchcase(name, p) for p in patterns)
