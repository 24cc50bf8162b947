"""Figures of sound: a waveform above a spectrogram, with a player, embedded in a page."""

import base64
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from curator_core.errors import CuratorError

from curator_audio.container import UndecodableError
from curator_audio.encoding import encode
from curator_audio.report.rows import Row
from curator_audio.waveform import SPEECH, Waveform

if TYPE_CHECKING:
    import numpy as np

    from curator_audio.waveform import Samples


LEVELS = 24

_DARK_TO_LIGHT = ((6, 4, 32), (72, 20, 110), (170, 50, 100), (240, 120, 60), (252, 240, 180))


def png(levels: "np.ndarray") -> bytes:
    """Encode whole numbers below LEVELS, from dark to light; the first row is on top."""
    height, width = levels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    lines = b"".join(b"\0" + row.tobytes() for row in levels.astype("uint8"))
    chunks = ((b"IHDR", header), (b"PLTE", _palette()), (b"IDAT", zlib.compress(lines, 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*one) for one in (*chunks, (b"IEND", b"")))


def data_url(data: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _palette() -> bytes:
    found = bytearray()
    for level in range(LEVELS):
        position = level / (LEVELS - 1) * (len(_DARK_TO_LIGHT) - 1)
        low = min(int(position), len(_DARK_TO_LIGHT) - 2)
        one, other = _DARK_TO_LIGHT[low], _DARK_TO_LIGHT[low + 1]
        found += bytes(
            round(a + (b - a) * (position - low)) for a, b in zip(one, other, strict=True)
        )
    return bytes(found)


WIDTH, _WAVE, _SPECTRUM = 640, 64, 96

_COLUMNS, _ROWS = 320, 80

_WINDOW = 512

_QUIET_DB = -30.0
"""Lower bound for the brightest level, so that silence is dark."""

_FLOOR_DB = 70.0
"""Range from the brightest to the darkest colour."""


@dataclass(frozen=True)
class Mark:
    """A span in seconds, its CSS class, and its tooltip."""

    start: float
    end: float
    kind: str
    tooltip: str


def draw_sound(samples: "Samples", rate: int, marks: Iterable[Mark] = ()) -> str:
    """Return an SVG of one channel, with the marks that begin within it."""
    seconds = samples.size / rate
    height = _WAVE + _SPECTRUM
    picture = data_url(png(_spectrogram(samples)), "image/png")
    spans = "".join(_span(mark, seconds, height) for mark in marks if mark.start < seconds)
    return (
        f'<svg class="sound" viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none">'
        f'<path class="wave" d="{_outline(samples)}"/>'
        f'<image href="{picture}" y="{_WAVE}" width="{WIDTH}" height="{_SPECTRUM}" '
        f'preserveAspectRatio="none"/>{spans}</svg>'
    )


def _span(mark: Mark, seconds: float, height: int) -> str:
    left = mark.start / seconds * WIDTH
    wide = min(WIDTH - left, (mark.end - mark.start) / seconds * WIDTH)
    return (
        f'<rect class="{mark.kind}" x="{left:.1f}" y="1" width="{max(1.0, wide):.1f}" '
        f'height="{height - 2}"><title>{escape(mark.tooltip)}</title></rect>'
    )


def _outline(samples: "Samples") -> str:
    """Return the highest and lowest sample of each column, scaled to the peak."""
    import numpy as np

    edges = np.linspace(0, samples.size, min(_COLUMNS, samples.size) + 1).astype(int)
    high = np.maximum.reduceat(samples, edges[:-1])
    low = np.minimum.reduceat(samples, edges[:-1])
    peak = max(1e-4, float(np.abs(samples).max()))
    middle, step = _WAVE / 2, WIDTH / (len(edges) - 1)
    scaled = (middle - 2) / peak
    above = [f"{n * step:.0f},{middle - value * scaled:.1f}" for n, value in enumerate(high)]
    below = [f"{n * step:.0f},{middle - value * scaled:.1f}" for n, value in enumerate(low)]
    return f"M{' '.join(above)} {' '.join(reversed(below))}Z"


def _spectrogram(samples: "Samples") -> "np.ndarray":
    """Return power levels, with time from left to right and frequency from bottom to top."""
    import numpy as np

    padded = np.pad(samples, (0, max(0, _WINDOW - samples.size)))
    starts = np.linspace(0, padded.size - _WINDOW, _COLUMNS).astype(int)
    frames = padded[starts[:, None] + np.arange(_WINDOW)] * np.hanning(_WINDOW)
    power = np.square(np.abs(np.fft.rfft(frames, axis=1)))[:, 1:]
    bands = np.array_split(power, _ROWS, axis=1)
    folded = np.stack([band.mean(axis=1) for band in bands[::-1]])
    decibels = 10 * np.log10(np.maximum(folded, 1e-10))
    shown = (decibels - max(_QUIET_DB, decibels.max())) / _FLOOR_DB + 1
    levels: np.ndarray = np.clip(shown * LEVELS, 0, LEVELS - 1).astype(np.uint8)
    return levels


_BITS = 16_000
"""Bits per second of the embedded sound."""


@dataclass
class FigureBuilder:
    """Make figures, with players while there is room for them in the page."""

    room: int
    """Characters of HTML left for all figures together."""

    def figure(self, row: Row, longest: float, caption: str, marks: Iterable[Mark] = ()) -> str:
        """Draw the beginning of a row, with a player and a caption."""
        try:
            wave = excerpt(row, longest)
        except (CuratorError, OSError) as error:
            message = f'<div class="missing">{escape(str(error))}</div>'
            return f"<figure>{message}<figcaption>{caption}</figcaption></figure>"
        drawn = draw_sound(wave.samples[0], wave.sample_rate, marks)
        cut = row.seconds is not None and row.seconds > wave.seconds + 0.1
        length = f"{wave.seconds:.1f} s" + (f" of {row.seconds:.0f} s" if cut else "")
        player = self._player(wave)
        made = (
            f"<figure>{drawn}{player}<figcaption>{caption} "
            f'<span class="length">{length}</span></figcaption></figure>'
        )
        self.room -= len(made)
        return made

    def _player(self, wave: Waveform) -> str:
        if wave.seconds * _BITS / 8 * 1.6 > self.room:
            return ""
        data = data_url(encode(wave, "opus", _BITS), "audio/ogg")
        return f'<audio controls preload="none" src="{data}"></audio>'


def excerpt(row: Row, longest: float) -> Waveform:
    """Decode the beginning of a row, up to `longest` seconds."""
    import numpy as np

    pieces, held = [], 0.0
    for block in row.batch().blocks(0, SPEECH):
        pieces.append(block.samples)
        held += block.seconds
        if held >= longest:
            break
    if not pieces:
        raise UndecodableError("it has no samples")
    samples = np.hstack(pieces)[:, : round(longest * (SPEECH.sample_rate or 1))]
    return Waveform(samples, SPEECH.sample_rate or 1)
