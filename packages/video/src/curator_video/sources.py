"""Video sources: bytes in a file, in an object store, or in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Inside:
    """The file that contains a video, and the offset of its first byte."""

    path: str
    start: int


@dataclass(frozen=True)
class VideoSource:
    """A file that is read in place, or bytes that were read from `path`.

    `storage_options` are passed to every stage that opens the file, but never saved: a retry takes
    them from the environment.
    """

    path: str
    size: int = 0
    version: str = ""
    content: bytes | None = field(default=None, repr=False)
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)
    inside: Inside | None = None
    """Location of a shard member, which is read in place."""

    @property
    def held_bytes(self) -> int:
        """Bytes held in memory; 0 for a file."""
        return 0 if self.content is None else len(self.content)
