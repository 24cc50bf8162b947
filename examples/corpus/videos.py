"""Made-up films as video files: of any codec, turned, with a changing frame rate, with sound."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from corpus.films import Film
from corpus.scenes import Screen

_RATE = 48000
_PIECE = 960
_TICKS = 90000


@dataclass(frozen=True)
class Style:
    """How a film is stored. The ending of its file decides on the container."""

    width: int = 320
    height: int = 180
    fps: int = 25
    codec: str = "libx264"
    pixel_format: str = "yuv420p"
    rotation: int = 0
    is_variable: bool = False
    audio: str | None = None
    keyframe_every: int = 50
    options: dict[str, str] = field(default_factory=dict)


def write_video(path: Path, film: Film, style: Style | None = None) -> Path:
    """The film as a file, the same bytes each time."""
    style = style or Style()
    with av.open(str(path), "w", options={"fflags": "+bitexact"}) as container:
        stream: Any = container.add_stream(style.codec, rate=style.fps)
        stream.width, stream.height = style.width, style.height
        stream.pix_fmt, stream.gop_size = style.pixel_format, style.keyframe_every
        stream.codec_context.thread_count = 1
        stream.options = _options(style)
        if style.is_variable:
            stream.codec_context.time_base = Fraction(1, _TICKS)
        if style.rotation:
            stream.set_display_rotation(style.rotation)
        sound: Any = _sound_track(container, style)
        pieces = _sound(film.frames / style.fps) if sound is not None else iter(())
        for number, frame in enumerate(_frames(film, style)):
            container.mux(stream.encode(frame))
            for piece in _until(pieces, (number + 1) / style.fps):
                container.mux(sound.encode(piece))
        container.mux(stream.encode(None))
        if sound is not None:
            for piece in pieces:
                container.mux(sound.encode(piece))
            container.mux(sound.encode(None))
    return path


def _frames(film: Film, style: Style) -> Iterator[av.VideoFrame]:
    time = 0
    for number, picture in enumerate(film.pictures(Screen(style.width, style.height))):
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        if style.is_variable:  # every third picture stays for twice as long
            frame.pts, frame.time_base = time, Fraction(1, _TICKS)
            time += _TICKS // style.fps * (2 if number % 3 == 2 else 1)
        else:
            frame.pts, frame.time_base = number, Fraction(1, style.fps)
        yield frame


def _options(style: Style) -> dict[str, str]:
    """x264 takes threads of its own, and gives other bytes on other CPUs, unless told not to."""
    if style.codec != "libx264":
        return style.options
    told = style.options.get("x264-params")
    single = "threads=1:lookahead-threads=1:cpu-independent=1"
    return {**style.options, "x264-params": f"{told}:{single}" if told else single}


def _sound_track(container: Any, style: Style) -> Any:
    if style.audio is None:
        return None
    return container.add_stream(style.audio, rate=_RATE, layout="mono")


def _sound(seconds: float) -> Iterator[av.AudioFrame]:
    """A tone that rises, and a click at each full second by which sound and picture are aligned."""
    for start in range(0, int(seconds * _RATE), _PIECE):
        at = np.arange(start, start + _PIECE)
        wave = 0.1 * np.sin(at * (0.03 + at * 1e-8))
        wave[at % _RATE < 240] = 0.9
        frame = av.AudioFrame.from_ndarray(wave.astype(np.float32)[None], "fltp", "mono")
        frame.sample_rate, frame.pts, frame.time_base = _RATE, start, Fraction(1, _RATE)
        yield frame


def _until(pieces: Iterator[av.AudioFrame], seconds: float) -> Iterator[av.AudioFrame]:
    for piece in pieces:
        yield piece
        if float(piece.time or 0) >= seconds:
            return
