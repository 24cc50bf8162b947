"""Files in the making: a container in memory, and which kind can hold the tracks of a clip."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_video.facts import AudioFacts

if TYPE_CHECKING:
    from av.container import OutputContainer

_MP4_PICTURES = frozenset({"h264", "hevc", "av1", "vp9", "mpeg4"})
_MP4_SOUND = frozenset({"aac", "mp3", "opus", "ac3", "eac3", "alac", "flac"})
_OPTIONS = {"fflags": "+bitexact"}  # or each file of Matroska would get an id by chance
ENDINGS = {"mp4": "mp4", "matroska": "mkv", "avi": "avi"}


@dataclass
class Draft:
    container: "OutputContainer"
    buffer: io.BytesIO
    kind: str

    @property
    def extension(self) -> str:
        return ENDINGS[self.kind]

    @property
    def content(self) -> bytes:
        return self.buffer.getvalue()


def kind_for(codec: str, audio: AudioFacts | None) -> str:
    """MP4 wherever it can hold the tracks, else Matroska."""
    holds = codec in _MP4_PICTURES and (audio is None or audio.codec in _MP4_SOUND)
    return "mp4" if holds else "matroska"


@contextmanager
def drafted(kind: str) -> Iterator[Draft]:
    """A file that is whole when the block ends."""
    import av

    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind, options=dict(_OPTIONS)) as container:
        yield Draft(container, buffer, kind)
