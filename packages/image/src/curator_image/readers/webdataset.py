"""Reader for WebDataset shards: tar files of samples, or byte ranges of them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, Literal, TypeAlias, get_args

from curator_core import Dropped, FilePart, Rejected
from curator_core.errors import InputError, hint
from curator_core.io.partitioning import FilePartitioning, Split, parse_size

from curator_image.decoding import Encoded
from curator_image.file_formats import is_image_extension
from curator_image.readers.base import ImageReader, ImageReading, SampleResult
from curator_image.readers.shard_content import ShardContent, StreamedContent, open_content
from curator_image.readers.tar import (
    DamagedRange,
    RefusedMember,
    TarItem,
    TarMember,
    first_member,
    walk_members,
)
from curator_image.samples import FileSlice, ImageSample, SampleRequirements, reject_sample

_REST_IS_LOST = "the rest of the file is lost"

KeysEnd: TypeAlias = Literal["first_dot", "last_dot"]

_Turn: TypeAlias = Literal["take", "skip", "over"]
_Data: TypeAlias = Encoded | FileSlice

_make_sample = partial(tuple.__new__, ImageSample)  # twice as fast


@dataclass(frozen=True)
class GroupingOptions:
    """How to turn members into samples."""

    keys_end: KeysEnd = "first_dot"
    image_ending: str | None = None
    requirements: SampleRequirements = field(default_factory=SampleRequirements)
    max_bytes: int = 256 * 1024 * 1024

    def split_name(self, name: str) -> tuple[str | None, str]:
        """Return key and extension; no key if the name does not have both."""
        if self.keys_end == "first_dot":
            key, _, ending = name.partition(".")
            if key and ending and "/" not in ending and key[-1] != "/":  # the most common case
                return key, ending
        base = name.rfind("/") + 1
        dot = name.find(".", base) if self.keys_end == "first_dot" else name.rfind(".", base)
        if dot <= base or dot == len(name) - 1:
            return None, ""
        return name[:dot], name[dot + 1 :]


class _MemberGroup:
    """The members of one key so far."""

    __slots__ = ("key", "members", "original_case", "problem", "start")

    def __init__(self, key: str, start: int) -> None:
        self.key = key
        self.start = start
        self.members: dict[str, _Data] = {}
        self.original_case: dict[str, str] = {}  # original spelling of extensions such as JPG
        self.problem: str | None = None


class _PartBorders:
    """Decide which part of a shard a sample belongs to, so that exactly one part reads it.

    The first sample at or after the start of a part belongs to the previous part, because this part
    cannot know whether it starts earlier. The first sample after damage is skipped: it may be
    incomplete.
    """

    def __init__(self, start: int, end: int | None) -> None:
        self._start = start
        self._end = end
        self._is_skipping = start > 0
        self._skipped: str | None = None
        self.last: str | None = None
        """Key of the sample that crosses the end of the part, once it has appeared."""

    @property
    def inside_until(self) -> float:
        """Position up to which every member is taken without further checks."""
        if self._is_skipping:
            return -1
        return float("inf") if self._end is None else self._end

    def turn(self, item: TarItem, key: str | None) -> _Turn:
        if item.start < self._start:
            return "skip"
        is_after_end = self._end is not None and item.start >= self._end
        if key is None:
            return self._turn_of_other(item, is_after_end)
        if is_after_end:
            self.last = self.last or key
            if key != self.last:
                return "over"
        if self._is_skipping:
            self._skipped = self._skipped or key
            self._is_skipping = key == self._skipped
        return "skip" if self._is_skipping else "take"

    def _turn_of_other(self, item: TarItem, is_after_end: bool) -> _Turn:
        if not isinstance(item, DamagedRange):
            return "skip" if is_after_end else "take"
        self._is_skipping, self._skipped = True, None
        return "take"


class SampleGrouper:
    """Turn the members of a part of a shard into samples."""

    def __init__(self, path: str, content: ShardContent, grouping: GroupingOptions) -> None:
        self._path = path
        self._view = content.view
        self._options = grouping
        self._split_name = grouping.split_name
        self._keys: set[str] = set()
        self._images: dict[tuple[str, ...], str | None] = {}
        """Extension of the image for each combination of extensions in a sample."""

    def samples(
        self, items: Iterator[TarItem], start: int, end: int | None
    ) -> Iterator[SampleResult]:
        group: _MemberGroup | None = None
        borders = _PartBorders(start, end)
        for one, key, ending in self._items_of_part(items, borders):
            if key is not None and isinstance(one, TarMember):
                if group is None or group.key != key:
                    if group is not None:
                        yield self._finish(group)
                    group = _MemberGroup(key, one.start)
                self._add(group, ending, one)
            elif isinstance(one, DamagedRange):
                yield from self._report_damage(group, one, borders.last is None)
                group = None
            else:
                yield self._report_ungrouped(one)
        if group is not None:
            yield self._finish(group)

    def _items_of_part(
        self, items: Iterator[TarItem], borders: _PartBorders
    ) -> Iterator[tuple[TarItem, str | None, str]]:
        """Yield the members of this part, with key and extension if they have them."""
        inside = borders.inside_until
        for one in items:
            key, ending = self._split_name(one.name) if isinstance(one, TarMember) else (None, "")
            if one.start >= inside or key is None:
                turn = borders.turn(one, key)
                inside = borders.inside_until
                if turn == "over":
                    return
                if turn == "skip":
                    continue
            yield one, key, ending

    def _add(self, group: _MemberGroup, ending: str, member: TarMember) -> None:
        _, _, at, size = member
        lowered = ending.lower()
        if size > self._options.max_bytes:
            group.problem = f"its .{lowered} has more than {self._options.max_bytes:,} bytes"
        elif lowered in group.members:
            group.problem = group.problem or (
                f"it has two .{lowered} files; if dots belong to keys, set keys_end: last_dot"
            )
        else:
            data = group.members[lowered] = self._view(at, at + size)
            if lowered != ending:
                group.original_case[lowered] = ending
            if len(data) < size:
                group.problem = f"the file is truncated within its .{lowered}"

    def _finish(self, group: _MemberGroup) -> SampleResult:
        key, members = group.key, group.members
        source = f"{self._path} byte {group.start}"
        image = self._find_image(group)
        if image is None or group.problem or key in self._keys:
            return Rejected(self._problem(group), f"{source} key {key!r}")
        self._keys.add(key)
        sidecars = {ending: bytes(data) for ending, data in members.items() if ending != image}
        original_case = group.original_case.get(image, image)
        found = _make_sample((key, members[image], original_case, source, sidecars))
        problem = self._options.requirements.problem(found)
        return reject_sample(found, problem) if problem else found

    def _problem(self, group: _MemberGroup) -> str:
        if group.problem is not None:
            return group.problem
        if group.key in self._keys:
            return "another sample in the shard has the same key"
        return self._no_image(group)

    def _find_image(self, group: _MemberGroup) -> str | None:
        endings = tuple(group.members)
        if endings not in self._images:
            self._images[endings] = self._choose_image(endings)
        return self._images[endings]

    def _choose_image(self, endings: tuple[str, ...]) -> str | None:
        """Return the extension of the image: one without dots, or the only one with dots."""
        if self._options.image_ending is not None:
            return self._options.image_ending if self._options.image_ending in endings else None
        images = [ending for ending in endings if is_image_extension(ending)]
        plain = [ending for ending in images if "." not in ending]
        return next(iter(plain or images[:1]), None) if plain or len(images) == 1 else None

    def _no_image(self, group: _MemberGroup) -> str:
        extension = self._options.image_ending
        images = [ending for ending in group.members if is_image_extension(ending)]
        if images and extension is None:
            return (
                f"it has several images ({', '.join(images[:3])}); if dots "
                "belong to keys, set keys_end: last_dot"
            )
        image = f"no .{extension}" if extension else "no image"
        return f"it has {image}, only {', '.join(f'.{ending}' for ending in group.members)}"

    def _report_damage(
        self, group: _MemberGroup | None, damage: DamagedRange, is_ours: bool
    ) -> Iterator[SampleResult]:
        if group is not None:
            where = f"{self._path} byte {group.start} key {group.key!r}"
            yield Rejected("the shard is damaged right after it: files may be missing", where)
        if not is_ours:
            return
        where = f"{self._path} byte {damage.start}"
        if damage.end is None:
            yield Rejected(f"{damage.reason}; {_REST_IS_LOST}", where)
        else:
            lost = damage.end - damage.start
            yield Rejected(f"{damage.reason}; lost {lost:,} bytes and the next sample", where)

    def _report_ungrouped(self, item: TarItem) -> SampleResult:
        if isinstance(item, RefusedMember):
            return Rejected(item.reason, f"{self._path} byte {item.start} member {item.name!r}")
        return Dropped("not part of a sample: its name has no key or no extension")


@dataclass
class WebDatasetReading(ImageReading):
    """Read tar files, or byte ranges of them."""

    grouping: GroupingOptions = field(default_factory=GroupingOptions)

    def check(self) -> Iterator[str]:
        if self.grouping.keys_end not in get_args(KeysEnd):
            close = hint(str(self.grouping.keys_end), get_args(KeysEnd))
            yield f"keys_end is {self.grouping.keys_end!r}{close}"
        else:
            yield from super().check()

    def samples(self, part: FilePart) -> Iterator[SampleResult]:
        has_sample = False
        with open_content(part, self.storage_options) as content:
            if isinstance(content, StreamedContent):
                if part.start:  # the first part reads a whole compressed file
                    return
                part = FilePart(part.path, part.size, part.version)
            first = first_member(content, part.start) if part.start else 0
            if first is None:
                return
            items = walk_members(content, first)
            for found in SampleGrouper(part.path, content, self.grouping).samples(
                items, part.start, part.end
            ):
                if not has_sample and part.start == 0 and isinstance(found, Rejected):
                    _raise_if_not_tar(part, found, content.read(0, 512))
                has_sample = has_sample or isinstance(found, ImageSample)
                yield found
            if isinstance(content, StreamedContent) and content.damage is not None:
                yield Rejected(f"{content.damage.reason}; {_REST_IS_LOST}", part.path)


def _raise_if_not_tar(part: FilePart, found: Rejected, start: bytes) -> None:
    """Raise one error for a file that is not a tar file at all."""
    if found.where == f"{part.path} byte 0" and found.reason.endswith(_REST_IS_LOST):
        hints = {b"\x1f\x8b": "gzip data: rename it to end in .tar.gz", b"PK": "a zip file"}
        kind = next((s for sign, s in hints.items() if start.startswith(sign)), "not a tar file")
        raise InputError(f"cannot read {part.path}: it is {kind}")


@dataclass
class WebDatasetReader(ImageReader):
    """Read WebDataset shards (.tar, also .gz .zst .bz2 .xz).

    Consecutive members with the same key form a sample: an image, its key and its sidecars. Large
    shards are split. Damaged samples are quarantined with shard, position and key; all others are
    kept.
    """

    keys_end: KeysEnd = field(default="first_dot", kw_only=True)
    """Where the key ends in a member's base name: at the first dot or at the last one."""

    image_ending: str | None = field(default=None, kw_only=True)
    """Extension of the image if several members could be it: jpg, png … The first by default."""

    max_file_bytes: int | str = field(default="256MiB", kw_only=True)
    """Maximum member size. Samples with a larger member are quarantined without reading it."""

    endings: ClassVar[tuple[str, ...]] = (
        ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tar.bz2", ".tar.xz",
    )  # fmt: skip
    split: ClassVar[Split] = "members"

    def reading(self, listing: FilePartitioning) -> WebDatasetReading:
        grouping = GroupingOptions(
            self.keys_end,
            self.image_ending,
            self.requirements,
            parse_size(self.max_file_bytes) or 0,
        )
        return WebDatasetReading(
            self.selected_columns, None, None, self.storage_options, listing, self.requirements,
            tuple(self.json_fields or ()), grouping,
        )  # fmt: skip
