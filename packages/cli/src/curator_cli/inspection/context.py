"""What all proposals need: the files, the registered stages, and where the recipe writes."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from glob import has_magic
from typing import Any

from curator_core.io.listing import folder_above_wildcards
from curator_core.model.formatting import counted
from curator_core.plugins.registry import Plugins

from curator_cli.inspection.files import FileGroup, FoundFiles, chosen_by_hash
from curator_cli.inspection.proposal import Option

_MOST_NAMED = 100
"""Files that a recipe names one by one, where no extension tells them apart from others."""


@dataclass(frozen=True)
class InspectionContext:
    """The files to write a recipe for."""

    plugins: Plugins
    found: FoundFiles
    group: FileGroup
    name: str
    goal: str | None = None

    @property
    def reader(self) -> str:
        return self.group.format.reader

    def chosen(self, most: int, most_bytes: int, bytes_per_file: int) -> list[str]:
        """Return some of the files, from all over the input, until there is enough to read.

        Of a larger file only some bytes are read.
        """
        files, size = [], 0
        for file in chosen_by_hash(self.group.sizes, most):
            size += min(self.group.sizes[file], bytes_per_file)
            files.append(file)
            if size > most_bytes:
                break
        return files

    @property
    def output(self) -> str:
        """The folder that the recipe writes to: never one that it reads."""
        plain = f"output/{self.name}"
        path = self.found.path
        is_pattern = has_magic(path) and not os.path.exists(path)
        folder = folder_above_wildcards(os.path.abspath(path)) if is_pattern else path
        read = os.path.realpath(folder)
        is_read = os.path.realpath(plain).startswith(os.path.join(read, ""))
        return f"_{plain}" if is_read and os.path.isdir(read) else plain

    def output_options(self, path: str = "kept") -> list[Option]:
        is_hidden = self.output.startswith("_")
        comment = "folders with names in _ are never read as input" if is_hidden else ""
        return [
            Option("path", f"{self.output}/{path}", comment),
            Option("dropped_path", f"{self.output}/dropped", "what was dropped, and why"),
        ]

    def input_options(self) -> list[Option]:
        """Return options with which the reader reads exactly the files of the group."""
        comment = counted(len(self.group.paths), "file")
        path, extensions = self.found.path, sorted(self.group.extensions)
        is_alone = not self._others_with(self.group.format.endings)
        if self.group.has_usual_names and is_alone:
            return [Option("file_paths", path, comment)]
        can_choose = "file_extensions" in self._reader_options() and all(extensions)
        if can_choose and not self._others_with(extensions):
            return [
                Option("file_paths", path, comment),
                Option("file_extensions", extensions),
            ]
        if len(self.group.paths) <= _MOST_NAMED:
            return [Option("file_paths", sorted(self.group.paths), comment)]
        return [Option("file_paths", path, "reads other files of these extensions, too")]

    def _others_with(self, endings: Sequence[str]) -> bool:
        """Return whether other files below the path have one of these extensions."""
        mine = set(self.group.paths)
        others = {file for group in self.found.groups for file in group.paths} - mine
        others |= {file for files in self.found.unknown.values() for file in files}
        others |= self.found.sidecar_paths
        return any(file.lower().endswith(tuple(endings)) for file in others)

    def _reader_options(self) -> set[str]:
        kind: Any = self.plugins.stages.load(self.reader)
        return {option.name for option in fields(kind)} if is_dataclass(kind) else set()
