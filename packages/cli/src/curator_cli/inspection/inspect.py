"""Inspect files: find out what they are, and propose a recipe."""

from collections.abc import Callable

from curator_core.errors import InputError, NothingFoundError, PluginError
from curator_core.model.formatting import counted
from curator_core.plugins.registry import Plugins

from curator_cli.inspection.audio import propose_audio
from curator_cli.inspection.context import InspectionContext
from curator_cli.inspection.files import FileGroup, FoundFiles, describe, find_input
from curator_cli.inspection.formats import AUDIO, MANIFEST, VIDEO
from curator_cli.inspection.goals import GOALS, Kind
from curator_cli.inspection.images import propose_images
from curator_cli.inspection.proposal import Proposal
from curator_cli.inspection.text import propose_text
from curator_cli.inspection.video import propose_video

_PROPOSERS: dict[Kind, Callable[[InspectionContext], Proposal]] = {
    "text": propose_text,
    "images": propose_images,
    "audio": propose_audio,
    "video": propose_video,
}

_READABLE = (
    "JSON Lines, Parquet, CSV, TSV, plain text, WARC, WET, pictures, recordings, videos and tar "
    "shards of these"
)


def inspect_files(path: str, goal: str | None, name: str, plugins: Plugins) -> Proposal:
    """Return a recipe for the files below a path, or for those of the kind that the goal needs."""
    found = _find(path)
    group = _choose(found, goal)
    if group.format.reader not in plugins.stages:
        package = group.format.package
        raise PluginError(
            f"{path} has {group}; the stages for them are in {package}: pip install {package}"
        )
    proposal = _PROPOSERS[group.format.kind](InspectionContext(plugins, found, group, name, goal))
    proposal.findings.insert(0, ("files", "; ".join(describe(found))))
    proposal.notes += _notes_about_others(found, group)
    return proposal


def _find(path: str) -> FoundFiles:
    try:
        found = find_input(path)
    except NothingFoundError as error:
        raise InputError(
            f"there is nothing to read: {error}; put files into it, or name another folder"
        ) from None
    if found.groups:
        return found
    kinds = ", ".join(
        f"{len(files):,} {extension or 'without extension'}"
        for extension, files in sorted(found.unknown.items(), key=lambda one: -len(one[1]))[:8]
    )
    raise InputError(
        f"{path} has {counted(found.total, 'file')} of no known format ({kinds}); "
        f"curate reads {_READABLE}{_advice(found)}"
    )


def _advice(found: FoundFiles) -> str:
    if any(extension.startswith(".json") for extension in found.unknown):
        return "; one list of JSON becomes JSON Lines with: jq -c '.[]' FILE.json > FILE.jsonl"
    if any(ending in found.unknown for ending in (".zip", ".tgz", ".tar.gz", ".7z", ".rar")):
        return "; unpack archives first"
    return "; convert them to one of these, or write a reader (curate init --plugin NAME)"


def _choose(found: FoundFiles, goal: str | None) -> FileGroup:
    """Return the largest group of files that suits the goal; of recordings, their manifest."""
    kind = GOALS[goal] if goal else found.groups[0].format.kind
    manifest = next((group for group in found.groups if group.format is MANIFEST), None)
    if kind == "audio" and manifest is not None:
        return manifest
    if goal is None:
        return found.groups[0]
    suitable = [group for group in found.groups if group.format.kind == kind]
    if goal == "speech" and not suitable:
        suitable = [_as_recordings(group) for group in found.groups if group.format is VIDEO]
    if not suitable:
        there = "; ".join(map(str, found.groups))
        others = [name for name, kind in GOALS.items() if kind == found.groups[0].format.kind]
        raise InputError(
            f"{found.path} has no files for --goal {goal}, but {there}: "
            f"use --goal {' or '.join(others)}"
        )
    return suitable[0]


def _as_recordings(group: FileGroup) -> FileGroup:
    """Return videos as recordings: their sound can be read alone."""
    return FileGroup(AUDIO, group.sizes, group.extensions)


def _notes_about_others(found: FoundFiles, group: FileGroup) -> list[str]:
    """Say which files the recipe does not read, and how to make a recipe for them."""
    notes = []
    for other in found.groups:
        is_listed = group.format is MANIFEST and other.format is AUDIO
        if not is_listed and not set(other.paths) & set(group.paths):
            goal = next(name for name, kind in GOALS.items() if kind == other.format.kind)
            same = other.format.kind == group.format.kind
            what = "--from these files alone" if same else f"--goal {goal}"
            notes.append(f"not in this recipe: {other} (another recipe: {what})")
    unknown = sum(map(len, found.unknown.values()))
    if unknown:
        kinds = ", ".join(sorted(extension or "no extension" for extension in found.unknown)[:5])
        notes.append(f"not in this recipe: {counted(unknown, 'file')} of no known format ({kinds})")
    return notes
