"""Output folders: check that they are free, publish files, retract files."""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from curator_core.errors import OutputError, ResumeError
from curator_core.io.atomic_write import explain_write_errors, find_staged, publish
from curator_core.io.filesystems import (
    base_name,
    full_path,
    is_local,
    join,
    local_path,
    open_filesystem,
    parent_of,
)
from curator_core.model.tasks import StagedFile
from curator_core.plan.plan import Output
from curator_core.run.journal import from_line, to_page

MANIFEST = "_manifest.json"
Entry: TypeAlias = dict[str, Any]
"""A file in a manifest."""

_OURS = re.compile(r"(part|dropped)-[0-9a-f]{32}\b.*")


def with_folders_below(outputs: Iterable[Output], more: Iterable[str] = ()) -> list[Output]:
    """Return the outputs, and an output for each folder below a tree.

    These are the folders that exist and those of `more`.
    """
    found: dict[str, Output] = {}
    for output in outputs:
        found[_folder(output)] = output
        if output.is_tree:
            top = f"{_folder(output)}/"
            below = [*_folders_in(output), *(f for f in more if f.startswith(top))]
            found |= {folder: replace(output, folder=folder) for folder in below}
    return list(found.values())


def _folders_in(output: Output) -> Iterator[str]:
    """Yield the visible folders below an output's folder."""
    fs, path = open_filesystem(output.folder, output.storage_options)
    if not fs.isdir(path):
        return
    for entry in sorted(name.rstrip("/") for name in fs.ls(path, detail=False)):
        if entry == path.rstrip("/"):  # some stores list a folder as its own entry
            continue
        if not base_name(entry).startswith((".", "_")) and fs.isdir(entry):
            below = replace(output, folder=full_path(fs, entry))
            yield below.folder
            yield from _folders_in(below)


def would_remove_files(outputs: Iterable[Output]) -> bool:
    """Whether a new run in the mode `overwrite` would remove anything."""
    folders = with_folders_below(output for output in outputs if output.mode == "overwrite")
    return any(map(_visible, folders))


def claim_outputs(
    outputs: Sequence[Output],
    forget: Callable[[], None],
    own: Sequence[str] = (),
    prepare: Callable[[], None] | None = None,
) -> None:
    """Make sure that a new run can use the folders: foreign data is never mixed in.

    First check all folders and call `prepare`, which may raise. Only then forget the earlier run
    and remove what it wrote: its `own` files and, in the mode `overwrite`, all files that Curator
    wrote.
    """
    folders = with_folders_below(outputs)
    for output in folders:
        refuse_foreign(output, own)
    if prepare is not None:
        prepare()
    Publisher(outputs, "").retract(own)
    forget()
    for output in folders:
        if output.mode == "overwrite":
            fs, path = open_filesystem(output.folder, output.storage_options)
            for name in _visible(output):
                fs.rm_file(join(path, name))


DATASET_CARD = "README.md"
"""A file that describes the data, and may be in an output folder."""


def refuse_foreign(output: Output, own: Sequence[str] = ()) -> None:
    """Raise an error if a folder holds files that a new run must not touch."""
    mine = {base_name(path) for path in own if parent_of(path) == _folder(output)}
    if mine:
        mine.add(MANIFEST)
    entries = _manifest(output)
    if entries == []:  # the run ended before it wrote anything
        mine.add(MANIFEST)
    visible = [name for name in _visible(output) if name not in mine]
    if not visible or output.mode == "append":
        return
    ours = set() if entries is None else {MANIFEST, *(entry["file"] for entry in entries)}
    foreign = [name for name in visible if name not in ours and not _OURS.fullmatch(name)]
    if output.mode == "overwrite" and not foreign:
        return
    shown = (foreign or visible)[:3]
    more = f" and {len(visible) - len(shown)} more" if len(visible) > len(shown) else ""
    remedy = (
        "choose an empty folder, or set the writer's mode to 'append' (to add to it) "
        "or 'overwrite' (to replace it)"
        if output.mode == "error"
        else "the mode 'overwrite' only replaces files that Curator wrote; choose another folder"
    )
    raise OutputError(
        f"stage {output.stage!r}: output folder {output.folder} already holds other data "
        f"({', '.join(shown)}{more}); {remedy}"
    )


def _folder(output: Output) -> str:
    fs, path = open_filesystem(output.folder, output.storage_options)
    return local_path(output.folder) or full_path(fs, path).rstrip("/")


def _manifest(output: Output) -> list[Entry] | None:
    """Return the entries of Curator's manifest, possibly none; None if there is no manifest."""
    fs, path = open_filesystem(output.folder, output.storage_options)
    try:
        files = from_line(fs.cat_file(join(path, MANIFEST)))["files"]
        return [{name: file[name] for name in ("file", "items", "bytes")} for file in files]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _visible(output: Output) -> list[str]:
    fs, path = open_filesystem(output.folder, output.storage_options)
    if not fs.isdir(path):
        return []
    entries = fs.ls(path, detail=False)
    if output.is_tree:  # its folders are separate outputs
        entries = [entry for entry in entries if not fs.isdir(entry)]
    names = (base_name(entry) for entry in entries)
    found = (n for n in names if not n.startswith((".", "_")) or n == MANIFEST)
    return sorted(name for name in found if name != DATASET_CARD)


class RetractedFiles:
    """The files that were retracted by the run that wrote them."""

    def __init__(self, storage_options: Mapping[str, Any] | None = None) -> None:
        self._options = dict(storage_options or {})
        self._listed: dict[str, set[str]] = {}

    def __contains__(self, path: str) -> bool:
        folder, name = parent_of(path), base_name(path)
        if not _OURS.fullmatch(name):
            return False
        if folder not in self._listed:
            entries = _manifest(Output(folder, "", storage_options=self._options))
            self._listed[folder] = {entry["file"] for entry in entries or ()}
        return bool(self._listed[folder]) and name not in self._listed[folder]


class Publisher:
    """Moves finished files to their final names, and retracts files whose source has changed.

    It never moves or deletes files outside the outputs, whatever the journal contains.
    """

    def __init__(self, outputs: Iterable[Output], run_token: str) -> None:
        self._outputs = list(outputs)
        self._token = run_token
        self._present: dict[str, set[str]] = {}
        self._inside: dict[str, bool] = {}

    def refuse_outside(self, paths: Iterable[str], journal: str = "") -> None:
        """Raise if a file is outside the output folders, or inside a run directory."""
        for path in paths:
            folder = parent_of(path)
            if folder not in self._inside:
                self._inside[folder] = any(_holds(output, folder) for output in self._outputs)
            if self._inside[folder] and base_name(path) not in ("", ".", ".."):
                continue
            folders = ", ".join(output.folder for output in self._outputs) or "none"
            if not journal:
                raise OutputError(
                    f"{path} is not in an output folder of the pipeline ({folders}); a writer must "
                    "write to its output_path"
                )
            raise ResumeError(
                f"the journal of {journal} names the file {path}, which is not in an output folder "
                f"of the pipeline ({folders}): the run was moved, or the journal was changed. "
                f"Nothing was touched; delete {journal} and the earlier output to start over"
            )

    def publish(self, files: Iterable[StagedFile]) -> None:
        for file in files:
            self.refuse_outside((file.staged, file.final))
            publish(self._filesystem(file.final), file)

    def retract(self, files: Iterable[str]) -> None:
        for file in files:
            self.refuse_outside((file,))
            fs = self._filesystem(file)
            if fs.exists(file):
                fs.rm_file(file)

    def is_staged(self, file: StagedFile) -> bool:
        return file.staged != file.final and bool(self._filesystem(file.final).exists(file.staged))

    def is_there(self, file: StagedFile) -> bool:
        """Whether a published file still exists; lists each folder once."""
        folder = parent_of(file.final)
        if folder not in self._present:
            fs = self._filesystem(file.final)
            listed = fs.ls(folder, detail=False) if fs.isdir(folder) else []
            self._present[folder] = {base_name(entry) for entry in listed}
        return base_name(file.final) in self._present[folder]

    def clear_staging(self) -> int:
        """Remove staged files of unfinished attempts; return how many."""
        cleared = 0
        for output in with_folders_below(self._outputs):
            fs, path = open_filesystem(output.folder, output.storage_options)
            for name in find_staged(fs, path, self._token):
                fs.rm_file(name)
                cleared += 1
        return cleared

    def write_manifests(self, run_name: str, files: Iterable[StagedFile]) -> None:
        """Write a manifest to every folder that lists the files of the result."""
        kept = sorted(files, key=lambda file: file.final)
        folders = {parent_of(file.final) for file in kept}
        for output in with_folders_below(self._outputs, sorted(folders)):
            fs, path = open_filesystem(output.folder, output.storage_options)
            mine = list(_below(kept, local_path(output.folder) or full_path(fs, path)))
            entries = [_entry(file) for file in mine]
            if output.mode == "append":
                entries += _entries_of_other_runs(output, entries)
                entries.sort(key=lambda entry: str(entry["file"]))
            with explain_write_errors(output.folder):
                fs.makedirs(path, exist_ok=True)
                _put_manifest(fs, join(path, MANIFEST), run_name, entries)

    def _filesystem(self, path: str) -> Any:
        for output in self._outputs:
            if path.startswith(local_path(output.folder) or output.folder):
                return open_filesystem(path, output.storage_options)[0]
        return open_filesystem(path)[0]


def _holds(output: Output, folder: str) -> bool:
    """Whether a folder is an output's folder or below it.

    Folders behind links and in run directories do not count.
    """
    top = _folder(output)
    if folder != top and not folder.startswith(f"{top}/"):
        return False
    if {"", ".", "..", ".curator"}.intersection(folder[len(top) :].split("/")[1:]):
        return False
    if local_path(folder) is None:
        return True
    real, real_top = os.path.realpath(folder), os.path.realpath(top)
    return real == real_top or real.startswith(f"{real_top}/")


def _below(files: Iterable[StagedFile], folder: str) -> Iterator[StagedFile]:
    return (file for file in files if parent_of(file.final) == folder.rstrip("/"))


def _entry(file: StagedFile) -> Entry:
    return {"file": base_name(file.final), "items": file.items, "bytes": file.size}


def _entries_of_other_runs(output: Output, mine: list[Entry]) -> list[Entry]:
    """Return what other runs wrote to the same folder and is still there."""
    there, known = set(_visible(output)), {entry["file"] for entry in mine}
    earlier = _manifest(output) or ()
    return [e for e in earlier if e["file"] in there and e["file"] not in known]


def _put_manifest(fs: Any, path: str, run_name: str, files: list[Entry]) -> None:
    facts = {
        "run": run_name,
        "files": files,
        "items": sum(entry["items"] for entry in files),
        "bytes": sum(entry["bytes"] for entry in files),
    }
    content = to_page(facts)
    if not is_local(fs):
        fs.pipe_file(path, content)
        return
    hidden = join(parent_of(path), f".{base_name(path)}.tmp")
    fs.pipe_file(hidden, content)
    os.replace(hidden, path)
