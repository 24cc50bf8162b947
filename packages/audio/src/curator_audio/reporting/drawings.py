"""Drawings of sound: its waveform, its spectrogram below, and spans across both."""

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from curator_audio.reporting.pictures import LEVELS, data_url, png

if TYPE_CHECKING:
    import numpy as np

    from curator_audio.waveforms import Samples

WIDTH, _WAVE, _SPECTRUM = 640, 64, 96
_COLUMNS, _ROWS = 320, 80
_WINDOW = 512
_QUIET_DB = -30.0
"""Power that is not bright, even where nothing is louder: silence is dark."""

_FLOOR_DB = 70.0
"""How far below the loudest part the darkest colour lies."""


@dataclass(frozen=True)
class Mark:
    """A span in seconds, what became of it, and why."""

    start: float
    end: float
    kind: str
    told: str


def drawing(samples: "Samples", rate: int, marks: Iterable[Mark] = ()) -> str:
    """An SVG of one channel, with the marks that lie in it."""
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
        f'height="{height - 2}"><title>{escape(mark.told)}</title></rect>'
    )


def _outline(samples: "Samples") -> str:
    """Highest and lowest sample of each column, scaled so that the loudest fills the drawing."""
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
    """Levels of power, time from left to right and frequency from bottom to top."""
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
