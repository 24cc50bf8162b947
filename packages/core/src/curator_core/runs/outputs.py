"""The folders that a run writes to: are they free, what is in them, what has to go."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from curator_core.errors import OutputError
from curator_core.filesystems import (
    base_name,
    full_path,
    is_local,
    join,
    local_path,
    open_filesystem,
    parent_of,
)
from curator_core.plans import Plan
from curator_core.runs.lines import from_line, to_page
from curator_core.staging import explained, find_staged, publish
from curator_core.tasks import StagedFile

MANIFEST = "_manifest.json"
_OURS = re.compile(r"(part|dropped)-[0-9a-f]{32}\b.*")


@dataclass(frozen=True)
class Output:
    """A folder that a writer publishes to."""

    folder: str
    stage: str
    mode: str = "error"
    storage_options: dict[str, Any] = field(default_factory=dict, repr=False)


def outputs_of(plan: Plan) -> list[Output]:
    """Every folder that the writers of a plan publish to, kept dropped records included."""
    found = []
    for planned in plan.stages:
        if not planned.stage.writes:
            continue
        options = dict(getattr(planned.stage, "storage_options", None) or {})
        mode = getattr(planned.stage, "mode", "error")
        for name in ("output_path", "dropped_path"):
            folder = getattr(planned.stage, name, None)
            if folder:
                found.append(Output(str(folder), planned.name, mode, options))
    return found


def claim(outputs: Sequence[Output], forget: Callable[[], None]) -> None:
    """Make sure that a new run may use the folders: what others left there is never mixed in.

    Only when all of them are free is an earlier run forgotten, and then what it wrote replaced.
    """
    for output in outputs:
        _refuse_foreign(output)
    forget()
    for output in outputs:
        if output.mode == "overwrite":
            fs, path = open_filesystem(output.folder, output.storage_options)
            for name in _visible(output):
                fs.rm_file(join(path, name))


def _refuse_foreign(output: Output) -> None:
    visible = _visible(output)
    if not visible or output.mode == "append":
        return
    ours = _listed(output) if MANIFEST in visible else set()
    foreign = [name for name in visible if name not in ours and not _OURS.fullmatch(name)]
    if output.mode == "overwrite" and not foreign:
        return
    shown = (foreign or visible)[:3]
    more = f" and {len(visible) - len(shown)} more" if len(visible) > len(shown) else ""
    way_out = (
        "choose an empty folder, mode='append' to add to it, or mode='overwrite' to replace it"
        if output.mode == "error"
        else "mode='overwrite' only replaces files that Curator wrote; choose another folder"
    )
    raise OutputError(
        f"stage {output.stage!r}: output folder {output.folder} already holds other data "
        f"({', '.join(shown)}{more}); {way_out}"
    )


def _listed(output: Output) -> set[str]:
    """The files that an earlier run said were its own."""
    fs, path = open_filesystem(output.folder, output.storage_options)
    try:
        facts = from_line(fs.cat_file(join(path, MANIFEST)))
        return {MANIFEST, *(file["file"] for file in facts["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _visible(output: Output) -> list[str]:
    fs, path = open_filesystem(output.folder, output.storage_options)
    if not fs.isdir(path):
        return []
    names = (base_name(entry) for entry in fs.ls(path, detail=False))
    return sorted(n for n in names if not n.startswith((".", "_")) or n == MANIFEST)


class Publisher:
    """Gives finished files their names, and takes them back where their source has changed."""

    def __init__(self, outputs: Iterable[Output], run_token: str) -> None:
        self._outputs = list(outputs)
        self._token = run_token
        self._present: dict[str, set[str]] = {}

    def publish(self, files: Iterable[StagedFile]) -> None:
        for file in files:
            publish(self._filesystem(file.final), file)

    def retract(self, files: Iterable[str]) -> None:
        for file in files:
            fs = self._filesystem(file)
            if fs.exists(file):
                fs.rm_file(file)

    def is_staged(self, file: StagedFile) -> bool:
        return file.staged != file.final and bool(self._filesystem(file.final).exists(file.staged))

    def is_there(self, file: StagedFile) -> bool:
        """Whether a published file still is; each folder is listed once."""
        folder = parent_of(file.final)
        if folder not in self._present:
            fs = self._filesystem(file.final)
            listed = fs.ls(folder, detail=False) if fs.isdir(folder) else []
            self._present[folder] = {base_name(entry) for entry in listed}
        return base_name(file.final) in self._present[folder]

    def clear_staging(self) -> int:
        """Remove what unfinished attempts left; how many files that were."""
        cleared = 0
        for output in self._outputs:
            fs, path = open_filesystem(output.folder, output.storage_options)
            for name in find_staged(fs, path, self._token):
                fs.rm_file(name)
                cleared += 1
        return cleared

    def write_manifests(self, run_name: str, files: Iterable[StagedFile]) -> None:
        """List, in every folder, the files that belong to the result."""
        kept = sorted(files, key=lambda file: file.final)
        for output in self._outputs:
            fs, path = open_filesystem(output.folder, output.storage_options)
            mine = list(_below(kept, local_path(output.folder) or full_path(fs, path)))
            with explained(output.folder):
                fs.makedirs(path, exist_ok=True)
                _put_manifest(fs, join(path, MANIFEST), run_name, mine)

    def _filesystem(self, path: str) -> Any:
        for output in self._outputs:
            if path.startswith(local_path(output.folder) or output.folder):
                return open_filesystem(path, output.storage_options)[0]
        return open_filesystem(path)[0]


def _below(files: Iterable[StagedFile], folder: str) -> Iterator[StagedFile]:
    return (file for file in files if parent_of(file.final) == folder.rstrip("/"))


def _put_manifest(fs: Any, path: str, run_name: str, files: list[StagedFile]) -> None:
    facts = {
        "run": run_name,
        "files": [{"file": base_name(f.final), "items": f.items, "bytes": f.size} for f in files],
        "items": sum(file.items for file in files),
        "bytes": sum(file.size for file in files),
    }
    content = to_page(facts)
    if not is_local(fs):
        fs.pipe_file(path, content)
        return
    hidden = join(parent_of(path), f".{base_name(path)}.tmp")
    fs.pipe_file(hidden, content)
    os.replace(hidden, path)
