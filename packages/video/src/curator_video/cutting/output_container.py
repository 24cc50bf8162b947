"""Output containers: write to memory, and choose the format that can hold a clip's tracks."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curator_video.cutting.sound import SoundHandling
from curator_video.probing import AudioFacts, VideoFacts

if TYPE_CHECKING:
    from av.container import OutputContainer

_MP4_PICTURES = frozenset({"h264", "hevc", "av1", "vp9", "mpeg4"})
_MP4_SOUND = frozenset({"aac", "mp3", "opus", "ac3", "eac3", "alac", "flac"})
_MATROSKA_SOUND = _MP4_SOUND | {
    *("vorbis", "mp2", "dts", "truehd", "wavpack", "tta"),
    *(f"pcm_{kind}" for kind in ("u8", "s16le", "s24le", "s32le", "f32le", "f64le")),
    *(f"pcm_{kind}" for kind in ("s16be", "s24be", "s32be")),
}

_NO_ASPECT_RATIO = frozenset({"vp8", "vp9", "av1"})
"""Codecs that do not store the pixel aspect ratio themselves."""

_AVI_SOUND = frozenset({"mp3"})
"""AVI stores no times or durations for the other sound codecs."""

_OPTIONS = {"fflags": "+bitexact"}  # otherwise Matroska files get a random id
EXTENSIONS = {"mp4": "mp4", "matroska": "mkv", "avi": "avi"}


@dataclass
class ClipOutput:
    container: "OutputContainer"
    buffer: io.BytesIO
    kind: str

    @property
    def extension(self) -> str:
        return EXTENSIONS[self.kind]

    @property
    def content(self) -> bytes:
        return self.buffer.getvalue()


def choose_container(
    codec: str, facts: VideoFacts, handling: SoundHandling
) -> tuple[str, str | None]:
    """Choose MP4 if it can hold the tracks, else Matroska, and the sound encoder if one is needed.

    Sound that neither container can hold is encoded.
    """
    audio, kind = facts.audio, "mp4" if codec in _MP4_PICTURES else "matroska"
    if audio is None or handling == "none" or (handling == "copied" and audio.codec in _MP4_SOUND):
        return kind, None
    fits = kind == "matroska" or not _loses_aspect_ratio(codec, facts)
    if handling == "copied" and audio.codec in _MATROSKA_SOUND and fits:
        return "matroska", None
    return kind, "aac"


def lost_aspect_ratio(kind: str, codec: str, facts: VideoFacts) -> tuple[str, ...]:
    """Return the note for a lost pixel aspect ratio; av does not write it to Matroska."""
    if kind != "matroska" or not _loses_aspect_ratio(codec, facts):
        return ()
    return (f"pixel aspect ratio left out, was {facts.sample_aspect_ratio}",)


def _loses_aspect_ratio(codec: str, facts: VideoFacts) -> bool:
    return facts.sample_aspect_ratio != "1:1" and codec in _NO_ASPECT_RATIO


def avi_sound_encoder(audio: AudioFacts | None, handling: SoundHandling) -> str | None:
    """Return the sound encoder for a clip that stays AVI; None copies the sound."""
    fits = audio is not None and handling == "copied" and audio.codec in _AVI_SOUND
    return None if fits else "pcm_s16le"


@contextmanager
def open_output(kind: str) -> Iterator[ClipOutput]:
    """Open a container in memory; the file is complete when the block ends."""
    import av

    buffer = io.BytesIO()
    with av.open(buffer, "w", format=kind, options=dict(_OPTIONS)) as container:
        yield ClipOutput(container, buffer, kind)
