"""Where the bytes of a video are: in a file, in an object store, or in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Inside:
    """Which file holds the bytes of a video, and where they begin in it."""

    path: str
    start: int


@dataclass(frozen=True)
class VideoSource:
    """A file that stays where it is, or bytes that came from somewhere called `path`.

    `storage_options` go along to every stage that opens the file, but are never written down: a
    retry takes them from the environment.
    """

    path: str
    size: int = 0
    version: str = ""
    content: bytes | None = field(default=None, repr=False)
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    inside: Inside | None = None
    """Where it is a member of a shard, which is read in place."""

    @property
    def held_bytes(self) -> int:
        """What it takes of memory: a file takes none."""
        return 0 if self.content is None else len(self.content)
