"""Drawings of sound: a waveform above a spectrogram, with marked spans."""

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
"""Lower bound for the brightest level, so that silence is dark."""

_FLOOR_DB = 70.0
"""Range from the brightest to the darkest colour."""


@dataclass(frozen=True)
class Mark:
    """A span in seconds, its CSS class, and its tooltip."""

    start: float
    end: float
    kind: str
    told: str


def drawing(samples: "Samples", rate: int, marks: Iterable[Mark] = ()) -> str:
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
        f'height="{height - 2}"><title>{escape(mark.told)}</title></rect>'
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
