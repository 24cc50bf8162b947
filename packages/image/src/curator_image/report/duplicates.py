"""The duplicates page: clusters side by side, with the kept picture first."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import pyarrow.parquet as pq
from curator_core import AnyStage, FilePart
from curator_core.errors import CuratorError
from curator_core.io.filesystems import StorageOptions, join, open_filesystem, open_input
from curator_core.logs import log
from curator_core.model.formatting import count, share
from curator_dedup.intermediate_files import files_in
from curator_report.html import facts_table, figures_table, page, section

from curator_image.dedup.sign import picture_names
from curator_image.report.records import read_batches
from curator_image.report.thumbnails import STYLE, thumbnail

PAGE = "duplicates.html"

MAX_CLUSTERS = 24
MAX_MEMBERS = 12
MAX_FILES = 32
"""Maximum number of files to read again for the pictures on the page."""

_POSITION = re.compile(r" (byte|row) [\d:]+$")
LOG = log("curator_core.image")

Name = tuple[str, str]


@dataclass(frozen=True)
class ClusterMember:
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
    members: dict[bytes, list[ClusterMember]] = field(default_factory=dict)


@dataclass(frozen=True)
class DuplicatesSource:
    """The workflow of the report, and the location of its pictures."""

    name: str
    work_dir: str
    files: Sequence[FilePart]
    reader: AnyStage
    storage_options: StorageOptions | None = None


def write_duplicates(subject: DuplicatesSource, counts: Mapping[str, int]) -> str | None:
    """Write the page and return its path, or None if that fails: a report must not fail the run."""
    try:
        clusters = read_clusters(join(subject.work_dir, "decisions"), subject.storage_options)
        names = {member.name for members in clusters.members.values() for member in members}
        text = render(subject.name, counts, clusters, _images(subject, names))
        fs, root = open_filesystem(subject.work_dir, dict(subject.storage_options or {}))
        fs.pipe_file(join(root, PAGE), text.encode("utf-8", "replace"))
    except (CuratorError, OSError, ValueError) as error:
        LOG.warning("the report on duplicates could not be written: %s", error)
        return None
    return join(subject.work_dir, PAGE)


def find_page(work_dir: str, storage_options: StorageOptions | None = None) -> str | None:
    """Return the path of an existing page, or None."""
    fs, root = open_filesystem(work_dir, dict(storage_options or {}))
    return join(work_dir, PAGE) if fs.exists(join(root, PAGE)) else None


def read_clusters(folder: str, storage_options: StorageOptions | None = None) -> Clusters:
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
    chosen = _choose_clusters(bests)
    for table in tables:
        for row in table.to_pylist():
            if row["cluster"] in chosen:
                found.members.setdefault(row["cluster"], []).append(_member(row))
    found.members = {
        key: sorted(found.members[key], key=lambda one: (not one.is_best, one.distance, one.name))
        for key in chosen
    }
    return found


def _choose_clusters(bests: Mapping[bytes, int]) -> list[bytes]:
    largest = sorted(bests, key=lambda key: (-bests[key], key))[: MAX_CLUSTERS // 3]
    others = sorted(bests.keys() - set(largest), key=lambda key: blake2b(key).digest())
    return [*largest, *others[: MAX_CLUSTERS - len(largest)]]


def _member(row: Mapping[str, Any]) -> ClusterMember:
    name = row["source"], row["key"]
    return ClusterMember(name, row["keep"], not row["is_duplicate"], row["distance"])


def _images(subject: DuplicatesSource, names: set[Name]) -> dict[Name, bytes]:
    """Read the pictures to show, from a limited number of files."""
    paths = {_POSITION.sub("", source) for source, _ in names}
    files = [file for file in subject.files if file.path in paths][:MAX_FILES]
    found: dict[Name, bytes] = {}
    for file in files:
        for batch in read_batches(subject.reader, file):
            for name, data in zip(picture_names(batch), batch.encoded, strict=True):
                if name in names:
                    found[name] = bytes(memoryview(data))
    return found


def render(
    name: str, counts: Mapping[str, int], clusters: Clusters, images: Mapping[Name, bytes]
) -> str:
    """Render the page. All text from data is escaped."""
    facts = [
        (name_of_count.replace("_", " "), count(number)) for name_of_count, number in counts.items()
    ]
    duplicates, pictures = counts.get("duplicates", 0), counts.get("pictures", 0)
    percent = share(duplicates, pictures)
    summary = f"{count(duplicates)} of {count(pictures)} pictures are duplicates"
    parts = [
        f'<h1>{name.replace("_", " ")}</h1><p class="good">{summary}'
        f"{f' ({percent})' if percent else ''}</p>{facts_table(facts)}",
        section("Sizes of clusters", _table(clusters.sizes, ("pictures in a cluster", "clusters"))),
        section("Differing bits", _table(clusters.distances, ("bits", "duplicates"))),
        section("Clusters", "".join(_cluster(one, images) for one in clusters.members.values())),
    ]
    return page(f"{name}: duplicates", "".join(parts), STYLE)


def _table(numbers: Counter[int], head: tuple[str, str]) -> str:
    largest = max(numbers.values(), default=1)
    rows = [
        [count(key), count(number), _bar(number / largest)]
        for key, number in sorted(numbers.items())
    ]
    return figures_table((*head, ""), rows)


def _bar(part: float) -> str:
    return f'<span class="bar"><i style="width:{100 * part:.1f}%"></i></span>'


def _cluster(members: Sequence[ClusterMember], images: Mapping[Name, bytes]) -> str:
    shown = "".join(_figure(member, images.get(member.name)) for member in members[:MAX_MEMBERS])
    more = len(members) - MAX_MEMBERS
    rest = f"<p>and {count(more)} more</p>" if more > 0 else ""
    return f'<div class="sheet">{shown}</div>{rest}'


def _figure(member: ClusterMember, image: bytes | None) -> str:
    status = "kept" if member.stays else "removed"
    bits = "" if member.is_best else f", {member.distance} bits"
    made = thumbnail(image, member.name[1], f"{status}{bits}", sized=True)
    return made.replace("<img ", '<img class="best" ', 1) if member.stays else made
