"""Shards: read videos in place from tar files, with their sidecars.

Consecutive members with the same key form a sample, as in WebDataset.
"""

import json
import tarfile
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, BinaryIO, TypeAlias

from curator_core import FilePart, Rejected
from curator_core.errors import InputError
from curator_core.io.filesystems import StorageOptions

from curator_video.container import EXTENSIONS
from curator_video.source import ShardMember, VideoSource, open_seekable

SHARD_EXTENSIONS = (".tar",)
_COMPRESSED = (".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz")
_SIDECARS = (".json", ".txt")
_MAX_SIDECAR_BYTES = 1024 * 1024

ShardItem: TypeAlias = "tuple[VideoSource, dict[str, Any]] | Rejected"


def is_shard(path: str) -> bool:
    if path.lower().endswith(_COMPRESSED):
        raise InputError(f"{path} is compressed, so its videos cannot be read in place; unpack it")
    return path.lower().endswith(SHARD_EXTENSIONS)


def read_shard(part: FilePart, storage_options: StorageOptions | None) -> Iterator[ShardItem]:
    """Yield each video as a source, with its key and sidecars as metadata."""
    with open_seekable(part.path, storage_options) as file:
        found = False
        seen: set[str] = set()
        for item in _read_samples(part, file):
            if isinstance(item, Rejected):
                yield item
                continue
            metadata = _metadata(part, file, item)
            for member in item:
                if not member.name.lower().endswith(EXTENSIONS):
                    continue
                found = True
                where = f"{part.path} member {member.name!r}"
                if member.name in seen:
                    yield Rejected("its name occurs earlier in the shard, too", where)
                    continue
                seen.add(member.name)
                yield _source(part, member, storage_options), metadata
        if not found:
            raise InputError(f"there is no video in {part.path} ({', '.join(EXTENSIONS)})")


def _source(
    part: FilePart, member: tarfile.TarInfo, storage_options: StorageOptions | None
) -> VideoSource:
    path = f"tar://{member.name}::{part.path}"  # fsspec can open this path, too
    shard_member = ShardMember(part.path, member.offset_data)
    return VideoSource(path, member.size, part.version, None, storage_options, shard_member)


def _read_samples(part: FilePart, file: BinaryIO) -> Iterator[list[tarfile.TarInfo] | Rejected]:
    try:
        tar = tarfile.open(fileobj=file, mode="r:")  # noqa: SIM115 - the caller owns the file
    except tarfile.ReadError as error:
        raise InputError(f"{part.path} cannot be read as a tar file: {error}") from None
    damage: list[str] = []
    members = (member for member in _read_members(tar, file, damage) if member.isreg())
    for _, group in groupby(members, key=lambda member: _key(member.name)):
        yield list(group)
    for reason in damage:
        yield Rejected(f"{reason}; the rest of the shard is lost", part.path)


def _read_members(
    tar: tarfile.TarFile, file: BinaryIO, damage: list[str]
) -> Iterator[tarfile.TarInfo]:
    try:
        while (member := tar.next()) is not None:
            yield member
            tar.members = []  # type: ignore[attr-defined]  # tar would keep all of them
    except tarfile.TarError as error:
        damage.append(str(error))
        return
    file.seek(tar.offset)  # tarfile takes any invalid header for the end
    if file.read(tarfile.BLOCKSIZE).strip(b"\0"):
        damage.append(f"no tar header at byte {tar.offset}, where one was expected")


def _key(name: str) -> str:
    """Return the path up to the first dot in the base name."""
    folder, slash, base = name.rpartition("/")
    return folder + slash + base.partition(".")[0]


def _metadata(part: FilePart, file: BinaryIO, members: Sequence[tarfile.TarInfo]) -> dict[str, Any]:
    known: dict[str, Any] = {"shard": part.path, "key": _key(members[0].name)}
    for member in members:
        for extension in _SIDECARS:
            if member.name.lower().endswith(extension) and member.size <= _MAX_SIDECAR_BYTES:
                file.seek(member.offset_data)
                known[extension[1:]] = _parse_sidecar(extension, file.read(member.size))
    return known


def _parse_sidecar(extension: str, content: bytes) -> Any:
    """Parse JSON if it is valid; return everything else as text."""
    text = content.decode(errors="replace")
    if extension == ".json":
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def find_source(path: str, storage_options: StorageOptions | None = None) -> VideoSource:
    """Return the source at a path, which may be a shard member."""
    if not path.startswith("tar://"):
        return VideoSource(path, storage_options=storage_options)
    name, _, shard = path.removeprefix("tar://").partition("::")
    with open_seekable(shard, storage_options) as file:
        damage: list[str] = []
        with tarfile.open(fileobj=file, mode="r:") as tar:
            for member in _read_members(tar, file, damage):
                if member.name == name:
                    return _source(FilePart(shard), member, storage_options)
    raise InputError(f"{name} is not in {shard}; was the shard changed?")
