"""Shards: read videos in place from tar files, with their sidecars.

Consecutive members with the same key form a sample, as in WebDataset.
"""

import json
import tarfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, BinaryIO, TypeAlias

from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions
from curator_core.model.files import FilePart
from curator_core.model.tasks import Rejected

from curator_video.opening import ENDINGS
from curator_video.sources import Inside, VideoSource
from curator_video.stretches import open_anywhere

SHARD_ENDINGS = (".tar",)
_PACKED = (".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz")
_BESIDE = (".json", ".txt")
_LARGEST_BESIDE = 1024 * 1024

Found: TypeAlias = "tuple[VideoSource, dict[str, Any]] | Rejected"


def is_shard(path: str) -> bool:
    if path.lower().endswith(_PACKED):
        raise InputError(f"{path} is compressed, so its videos cannot be read in place; unpack it")
    return path.lower().endswith(SHARD_ENDINGS)


def videos_in(part: FilePart, storage_options: StorageOptions | None) -> Iterator[Found]:
    """Yield each video as a source, with its key and sidecars as metadata."""
    with open_anywhere(part.path, storage_options) as file:
        found = False
        seen: set[str] = set()
        for item in _samples(part, file):
            if isinstance(item, Rejected):
                yield item
                continue
            beside = _metadata(part, file, item)
            for member in item:
                if not member.name.lower().endswith(ENDINGS):
                    continue
                found = True
                where = f"{part.path} member {member.name!r}"
                if member.name in seen:
                    yield Rejected("its name stands earlier in the shard as well", where)
                    continue
                seen.add(member.name)
                yield _source(part, member, storage_options), beside
        if not found:
            raise InputError(f"there is no video in {part.path} ({', '.join(ENDINGS)})")


def _source(
    part: FilePart, member: tarfile.TarInfo, storage_options: StorageOptions | None
) -> VideoSource:
    path = f"tar://{member.name}::{part.path}"  # fsspec can open this path, too
    inside = Inside(part.path, member.offset_data)
    return VideoSource(path, member.size, part.version, None, storage_options, inside)


def _samples(part: FilePart, file: BinaryIO) -> Iterator[list[tarfile.TarInfo] | Rejected]:
    try:
        tar = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115 - the caller owns the file
    except tarfile.ReadError as error:
        raise InputError(f"{part.path} cannot be read as a tar file: {error}") from None
    damage: list[str] = []
    members = (member for member in _members(tar, file, damage) if member.isreg())
    for _, group in groupby(members, key=lambda member: _key(member.name)):
        yield list(group)
    for reason in damage:
        yield Rejected(f"{reason}; what follows in the shard is lost", part.path)


def _members(tar: tarfile.TarFile, file: BinaryIO, damage: list[str]) -> Iterator[tarfile.TarInfo]:
    try:
        while (member := tar.next()) is not None:
            yield member
            tar.members = []  # type: ignore[attr-defined]  # tar would keep all of them
    except tarfile.TarError as error:
        damage.append(str(error))
        return
    file.seek(tar.offset)  # tarfile takes any invalid header for the end
    if file.read(tarfile.BLOCKSIZE).strip(b"\0"):
        damage.append(f"no tar header at byte {tar.offset}, where one should be")


def _key(name: str) -> str:
    """Return the path up to the first dot in the base name."""
    folder, slash, base = name.rpartition("/")
    return folder + slash + base.partition(".")[0]


def _metadata(part: FilePart, file: BinaryIO, members: Sequence[tarfile.TarInfo]) -> dict[str, Any]:
    known: dict[str, Any] = {"shard": part.path, "key": _key(members[0].name)}
    for member in members:
        for ending in _BESIDE:
            if member.name.lower().endswith(ending) and member.size <= _LARGEST_BESIDE:
                file.seek(member.offset_data)
                known[ending[1:]] = _value(ending, file.read(member.size))
    return known


def _value(ending: str, content: bytes) -> Any:
    """Parse JSON if it is valid; return everything else as text."""
    text = content.decode(errors="replace")
    if ending == ".json":
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def source_at(path: str, storage_options: StorageOptions | None = None) -> VideoSource:
    """Return the source at a path, which may be a shard member."""
    if not path.startswith("tar://"):
        return VideoSource(path, storage_options=storage_options)
    name, _, shard = path.removeprefix("tar://").partition("::")
    with open_anywhere(shard, storage_options) as file:
        damage: list[str] = []
        with tarfile.open(fileobj=file, mode="r:") as tar:
            for member in _members(tar, file, damage):
                if member.name == name:
                    return _source(FilePart(shard), member, storage_options)
    raise InputError(f"{name} is not in {shard} (any more)")
