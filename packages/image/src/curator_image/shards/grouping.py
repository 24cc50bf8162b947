"""Grouping: turn consecutive members with the same key into samples."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, TypeAlias

from curator_core.model.tasks import Dropped, Rejected

from curator_image.decoding import Encoded
from curator_image.endings import is_image
from curator_image.extents import Extent
from curator_image.samples import Demands, Sample, rejected
from curator_image.shards.contents import Content
from curator_image.shards.members import Damage, Member, Met, Refused

KeysEnd: TypeAlias = Literal["first_dot", "last_dot"]

Turn: TypeAlias = Literal["take", "skip", "over"]
Found: TypeAlias = Sample | Rejected | Dropped
Data: TypeAlias = Encoded | Extent

_sample = partial(tuple.__new__, Sample)  # twice as fast


@dataclass(frozen=True)
class Grouping:
    """How to turn members into samples."""

    keys_end: KeysEnd = "first_dot"
    image_ending: str | None = None
    demands: Demands = field(default_factory=Demands)
    max_bytes: int = 256 * 1024 * 1024

    def named(self, name: str) -> tuple[str | None, str]:
        """Return key and extension; no key if the name does not have both."""
        if self.keys_end == "first_dot":
            key, _, ending = name.partition(".")
            if key and ending and "/" not in ending and key[-1] != "/":  # the most common case
                return key, ending
        place = name.rfind("/") + 1
        dot = name.find(".", place) if self.keys_end == "first_dot" else name.rfind(".", place)
        if dot <= place or dot == len(name) - 1:
            return None, ""
        return name[:dot], name[dot + 1 :]


class _Group:
    """The members of one key so far."""

    __slots__ = ("key", "members", "problem", "spelled", "start")

    def __init__(self, key: str, start: int) -> None:
        self.key = key
        self.start = start
        self.members: dict[str, Data] = {}
        self.spelled: dict[str, str] = {}  # original spelling of extensions such as JPG
        self.problem: str | None = None


class _Borders:
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

    def turn(self, met: Met, key: str | None) -> Turn:
        if met.start < self._start:
            return "skip"
        behind = self._end is not None and met.start >= self._end
        if key is None:
            return self._turn_of_others(met, behind)
        if behind:
            self.last = self.last or key
            if key != self.last:
                return "over"
        if self._is_skipping:
            self._skipped = self._skipped or key
            self._is_skipping = key == self._skipped
        return "skip" if self._is_skipping else "take"

    def _turn_of_others(self, met: Met, behind: bool) -> Turn:
        if not isinstance(met, Damage):
            return "skip" if behind else "take"
        self._is_skipping, self._skipped = True, None
        return "take"


class Grouper:
    """Turn the members of a part of a shard into samples."""

    def __init__(self, path: str, content: Content, grouping: Grouping) -> None:
        self._path = path
        self._view = content.view
        self._how = grouping
        self._named = grouping.named
        self._keys: set[str] = set()
        self._images: dict[tuple[str, ...], str | None] = {}
        """Extension of the image for each combination of extensions in a sample."""

    def samples(self, met: Iterator[Met], start: int, end: int | None) -> Iterator[Found]:
        group: _Group | None = None
        borders = _Borders(start, end)
        for one, key, ending in self._taken(met, borders):
            if key is not None and isinstance(one, Member):
                if group is None or group.key != key:
                    if group is not None:
                        yield self._finished(group)
                    group = _Group(key, one.start)
                self._add(group, ending, one)
            elif isinstance(one, Damage):
                yield from self._damaged(group, one, borders.last is None)
                group = None
            else:
                yield self._left_out(one)
        if group is not None:
            yield self._finished(group)

    def _taken(
        self, met: Iterator[Met], borders: _Borders
    ) -> Iterator[tuple[Met, str | None, str]]:
        """Yield the members of this part, with key and extension if they have them."""
        inside = borders.inside_until
        for one in met:
            key, ending = self._named(one.name) if isinstance(one, Member) else (None, "")
            if one.start >= inside or key is None:
                turn = borders.turn(one, key)
                inside = borders.inside_until
                if turn == "over":
                    return
                if turn == "skip":
                    continue
            yield one, key, ending

    def _add(self, group: _Group, ending: str, member: Member) -> None:
        _, _, at, size = member
        lowered = ending.lower()
        if size > self._how.max_bytes:
            group.problem = f"its .{lowered} has more than {self._how.max_bytes:,} bytes"
        elif lowered in group.members:
            group.problem = group.problem or (
                f"it has two files that end in .{lowered}; if dots belong to keys, set "
                "keys_end: last_dot"
            )
        else:
            data = group.members[lowered] = self._view(at, at + size)
            if lowered != ending:
                group.spelled[lowered] = ending
            if len(data) < size:
                group.problem = f"the file is cut off within its .{lowered}"

    def _finished(self, group: _Group) -> Found:
        key, members = group.key, group.members
        source = f"{self._path} byte {group.start}"
        image = self._image_of(group)
        if image is None or group.problem or key in self._keys:
            return Rejected(self._problem(group), f"{source} key {key!r}")
        self._keys.add(key)
        sidecars = {ending: bytes(data) for ending, data in members.items() if ending != image}
        spelled = group.spelled.get(image, image)
        found = _sample((key, members[image], spelled, source, sidecars))
        unmet = self._how.demands.unmet(found)
        return rejected(found, unmet) if unmet else found

    def _problem(self, group: _Group) -> str:
        if group.problem is not None:
            return group.problem
        if group.key in self._keys:
            return "its key stands earlier in the shard as well"
        return self._no_image(group)

    def _image_of(self, group: _Group) -> str | None:
        endings = tuple(group.members)
        if endings not in self._images:
            self._images[endings] = self._chosen(endings)
        return self._images[endings]

    def _chosen(self, endings: tuple[str, ...]) -> str | None:
        """Return the extension of the image: one without dots, or the only one with dots."""
        if self._how.image_ending is not None:
            return self._how.image_ending if self._how.image_ending in endings else None
        images = [ending for ending in endings if is_image(ending)]
        plain = [ending for ending in images if "." not in ending]
        return next(iter(plain or images[:1]), None) if plain or len(images) == 1 else None

    def _no_image(self, group: _Group) -> str:
        wanted = self._how.image_ending
        images = [ending for ending in group.members if is_image(ending)]
        if images and wanted is None:
            return (
                f"it has several images ({', '.join(images[:3])}), none of them plain; if dots "
                "belong to keys, set keys_end: last_dot"
            )
        image = f"no .{wanted}" if wanted else "no image"
        return f"it has {image}, only {', '.join(f'.{ending}' for ending in group.members)}"

    def _damaged(self, group: _Group | None, damage: Damage, is_ours: bool) -> Iterator[Found]:
        if group is not None:
            where = f"{self._path} byte {group.start} key {group.key!r}"
            yield Rejected("the shard is damaged right behind it: it may lack files", where)
        if not is_ours:
            return
        there = f"{self._path} byte {damage.start}"
        if damage.end is None:
            yield Rejected(f"{damage.reason}; what follows is lost", there)
        else:
            lost = damage.end - damage.start
            yield Rejected(f"{damage.reason}; lost {lost:,} bytes and the sample behind", there)

    def _left_out(self, met: Met) -> Found:
        if isinstance(met, Refused):
            return Rejected(met.reason, f"{self._path} byte {met.start} member {met.name!r}")
        return Dropped("not part of a sample: its name has no key, or no ending")
