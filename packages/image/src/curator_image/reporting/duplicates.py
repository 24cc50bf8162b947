"""The duplicates page: clusters side by side, with the kept picture first."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import pyarrow.parquet as pq
from curator_core import FilePart
from curator_core.errors import CuratorError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem, open_input
from curator_core.logs import log
from curator_core.model.stages import AnyStage
from curator_core.reporting.figures import count, share
from curator_core.reporting.fragments import facts_table, figures_table, page, section
from curator_dedup.folders import files_in

from curator_image.duplicates.identities import names_of
from curator_image.reporting.records import batches_of
from curator_image.reporting.styles import STYLE
from curator_image.reporting.thumbnails import thumbnail

PAGE = "duplicates.html"

MOST_CLUSTERS = 24
MOST_MEMBERS = 12
MOST_FILES = 32
"""Maximum number of files to read again for the pictures on the page."""

_WHERE = re.compile(r" (byte|row) [\d:]+$")
_log = log("curator_core.image")

Name = tuple[str, str]


@dataclass(frozen=True)
class Member:
    """One picture of a cluster."""

    name: Name
    stays: bool
    is_best: bool
    distance: int


@dataclass
class Clusters:
    """The sizes of all clusters, and the members of some."""

    sizes: Counter[int] = field(default_factory=Counter)
    distances: Counter[int] = field(default_factory=Counter)
    members: dict[bytes, list[Member]] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    """The workflow of the report, and the location of its pictures."""

    name: str
    work_dir: str
    files: Sequence[FilePart]
    reader: AnyStage
    storage_options: StorageOptions | None = None


def write_duplicates(subject: Subject, counts: Mapping[str, int]) -> str | None:
    """Write the page and return its path, or None if that fails: a report must not fail the run."""
    try:
        clusters = clusters_in(join(subject.work_dir, "decisions"), subject.storage_options)
        names = {member.name for members in clusters.members.values() for member in members}
        text = render(subject.name, counts, clusters, _images(subject, names))
        fs, root = open_filesystem(subject.work_dir, dict(subject.storage_options or {}))
        fs.pipe_file(join(root, PAGE), text.encode("utf-8", "replace"))
    except (CuratorError, OSError, ValueError) as error:
        _log.warning("the report on duplicates could not be written: %s", error)
        return None
    return join(subject.work_dir, PAGE)


def page_in(work_dir: str, storage_options: StorageOptions | None = None) -> str | None:
    """Return the path of an existing page, or None."""
    fs, root = open_filesystem(work_dir, dict(storage_options or {}))
    return join(work_dir, PAGE) if fs.exists(join(root, PAGE)) else None


def clusters_in(folder: str, storage_options: StorageOptions | None = None) -> Clusters:
    """Return the largest clusters and a stable pseudorandom sample of the others."""
    found = Clusters()
    tables = []
    for part in files_in(folder, storage_options):
        with open_input(part.path, storage_options) as source:
            tables.append(pq.read_table(source))
    bests = {}
    for table in tables:
        for row in table.select(["cluster", "size", "is_duplicate", "distance"]).to_pylist():
            if row["is_duplicate"]:
                found.distances[row["distance"]] += 1
            else:
                found.sizes[row["size"]] += 1
                bests[row["cluster"]] = row["size"]
    chosen = _chosen(bests)
    for table in tables:
        for row in table.to_pylist():
            if row["cluster"] in chosen:
                found.members.setdefault(row["cluster"], []).append(_member(row))
    found.members = {
        key: sorted(found.members[key], key=lambda one: (not one.is_best, one.distance, one.name))
        for key in chosen
    }
    return found


def _chosen(bests: Mapping[bytes, int]) -> list[bytes]:
    largest = sorted(bests, key=lambda key: (-bests[key], key))[: MOST_CLUSTERS // 3]
    others = sorted(bests.keys() - set(largest), key=lambda key: blake2b(key).digest())
    return [*largest, *others[: MOST_CLUSTERS - len(largest)]]


def _member(row: Mapping[str, Any]) -> Member:
    name = row["source"], row["key"]
    return Member(name, row["keep"], not row["is_duplicate"], row["distance"])


def _images(subject: Subject, names: set[Name]) -> dict[Name, bytes]:
    """Read the pictures to show, from a limited number of files."""
    wanted = {_WHERE.sub("", source) for source, _ in names}
    files = [file for file in subject.files if file.path in wanted][:MOST_FILES]
    found: dict[Name, bytes] = {}
    for file in files:
        for batch in batches_of(subject.reader, file):
            for name, data in zip(names_of(batch), batch.encoded, strict=True):
                if name in names:
                    found[name] = bytes(memoryview(data))
    return found


def render(
    name: str, counts: Mapping[str, int], clusters: Clusters, images: Mapping[Name, bytes]
) -> str:
    """Render the page. All text from data is escaped."""
    facts = [(told.replace("_", " "), count(number)) for told, number in counts.items()]
    duplicates, pictures = counts.get("duplicates", 0), counts.get("pictures", 0)
    percent = share(duplicates, pictures)
    told = f"{count(duplicates)} of {count(pictures)} pictures are duplicates"
    parts = [
        f'<h1>{name.replace("_", " ")}</h1><p class="good">{told}'
        f"{f' ({percent})' if percent else ''}</p>{facts_table(facts)}",
        section("Sizes of clusters", _table(clusters.sizes, ("pictures in a cluster", "clusters"))),
        section("Differing bits", _table(clusters.distances, ("bits", "duplicates"))),
        section("Clusters", "".join(_cluster(one, images) for one in clusters.members.values())),
    ]
    return page(f"{name}: duplicates", "".join(parts), STYLE)


def _table(numbers: Counter[int], head: tuple[str, str]) -> str:
    most = max(numbers.values(), default=1)
    rows = [
        [count(key), count(number), _bar(number / most)] for key, number in sorted(numbers.items())
    ]
    return figures_table((*head, ""), rows)


def _bar(part: float) -> str:
    return f'<span class="bar"><i style="width:{100 * part:.1f}%"></i></span>'


def _cluster(members: Sequence[Member], images: Mapping[Name, bytes]) -> str:
    shown = "".join(_figure(member, images.get(member.name)) for member in members[:MOST_MEMBERS])
    more = len(members) - MOST_MEMBERS
    rest = f"<p>and {count(more)} more</p>" if more > 0 else ""
    return f'<div class="sheet">{shown}</div>{rest}'


def _figure(member: Member, image: bytes | None) -> str:
    told = "kept" if member.stays else "removed"
    bits = "" if member.is_best else f", {member.distance} bits"
    made = thumbnail(image, member.name[1], f"{told}{bits}", sized=True)
    return made.replace("<img ", '<img class="best" ', 1) if member.stays else made
