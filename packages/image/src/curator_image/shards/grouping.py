"""Grouping: the members of a shard that follow each other under one key become a sample."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from curator_core.outcomes import Dropped, Rejected

from curator_image.endings import is_image
from curator_image.samples import Demands, Sample, rejected
from curator_image.shards.contents import Content
from curator_image.shards.members import Damage, Member, Met, Refused

KeysEnd: TypeAlias = Literal["first_dot", "last_dot"]

Found: TypeAlias = Sample | Rejected | Dropped


@dataclass(frozen=True)
class Grouping:
    """How members become samples."""

    keys_end: KeysEnd = "first_dot"
    image_ending: str | None = None
    demands: Demands = field(default_factory=Demands)
    max_bytes: int = 256 * 1024 * 1024

    def named(self, name: str) -> tuple[str, str] | None:
        """Key and ending; None for names that have only one of the two."""
        place = name.rfind("/") + 1
        dot = name.find(".", place) if self.keys_end == "first_dot" else name.rfind(".", place)
        if dot <= place or dot == len(name) - 1:
            return None
        return name[:dot], name[dot + 1 :]


@dataclass
class _Group:
    """Members of one key, so far."""

    key: str
    start: int
    members: dict[str, Member] = field(default_factory=dict)
    extension: str = ""
    problem: str | None = None


class _Borders:
    """Which part of a shard a sample belongs to, so that each is read by just one.

    The first sample at or behind the start of a part belongs to the part before, which cannot know
    that it does not begin earlier. Behind damage the first sample is nobody's: it may lack files.
    """

    def __init__(self, start: int, end: int | None) -> None:
        self._start = start
        self._end = end
        self._is_skipping = start > 0
        self._skipped: str | None = None
        self.last: str | None = None
        """The key of the sample that stands across the end, once it has come."""

    def turn(self, met: Met, key: str | None) -> Literal["take", "skip", "over"]:
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

    def _turn_of_others(self, met: Met, behind: bool) -> Literal["take", "skip", "over"]:
        if not isinstance(met, Damage):
            return "skip" if behind else "take"
        self._is_skipping, self._skipped = True, None
        return "take"


class Grouper:
    """Makes samples of what is met in a part of a shard."""

    def __init__(self, path: str, content: Content, grouping: Grouping) -> None:
        self._path = path
        self._content = content
        self._how = grouping
        self._keys: set[str] = set()

    def samples(self, met: Iterator[Met], start: int, end: int | None) -> Iterator[Found]:
        group: _Group | None = None
        borders = _Borders(start, end)
        for one in met:
            key, ending = self._key(one)
            turn = borders.turn(one, key)
            if turn == "over":
                break
            if turn == "skip":
                continue
            if isinstance(one, Damage):
                yield from self._damaged(group, one, borders.last is None)
                group = None
            elif isinstance(one, Refused) or key is None:
                yield self._left_out(one)
            else:
                if group is not None and group.key != key:
                    yield from self._finished(group)
                    group = None
                group = group or _Group(key, one.start)
                self._add(group, ending, one)
        if group is not None:
            yield from self._finished(group)

    def _key(self, met: Met) -> tuple[str | None, str]:
        named = self._how.named(met.name) if isinstance(met, Member) else None
        return named or (None, "")

    def _add(self, group: _Group, ending: str, member: Member) -> None:
        lowered = ending.lower()
        if lowered in group.members:
            group.problem = group.problem or (
                f"it has two files that end in .{lowered}; if dots belong to keys, set "
                "keys_end: last_dot"
            )
        else:
            group.members[lowered] = member
        if member.size > self._how.max_bytes:
            group.problem = f"its .{lowered} has more than {self._how.max_bytes:,} bytes"

    def _finished(self, group: _Group) -> Iterator[Found]:
        where = f"{self._path} byte {group.start} key {group.key!r}"
        image = self._image_of(group)
        if group.key in self._keys:
            group.problem = group.problem or "its key stands earlier in the shard as well"
        self._keys.add(group.key)
        if image is None and not group.problem:
            group.problem = self._no_image(group)
        if group.problem or image is None:
            yield Rejected(group.problem or "", where)
            return
        data = {ending: self._data(member) for ending, member in group.members.items()}
        for ending, member in group.members.items():
            if len(data[ending]) < member.size:
                yield Rejected(f"the file is cut off within its .{ending}", where)
                return
        found = Sample(
            group.key,
            data.pop(image),
            self._spelled(group.members[image]),
            f"{self._path} byte {group.start}",
            data,
        )
        reason = self._how.demands.unmet(found)
        yield rejected(found, reason) if reason else found

    def _data(self, member: Member) -> bytes:
        return self._content.cut(member.at, member.at + member.size)

    def _spelled(self, member: Member) -> str:
        """The ending as it was written: JPG stays JPG."""
        named = self._how.named(member.name)
        return named[1] if named else ""

    def _image_of(self, group: _Group) -> str | None:
        wanted = self._how.image_ending
        if wanted is not None:
            return wanted if wanted in group.members else None
        plain = [ending for ending in group.members if "." not in ending and is_image(ending)]
        if plain:
            return plain[0]
        dotted = [ending for ending in group.members if is_image(ending)]
        if len(dotted) > 1:
            group.problem = group.problem or (
                f"it has several images ({', '.join(dotted[:3])}), none of them plain; if dots "
                "belong to keys, set keys_end: last_dot"
            )
        return dotted[0] if dotted else None

    def _no_image(self, group: _Group) -> str:
        wanted = self._how.image_ending
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
