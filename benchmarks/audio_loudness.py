"""Loudness: against FFmpeg's ebur128 and pyloudnorm, on tones and on what sounds like speech."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from audio_sizes import Sizes
from curator_audio.measures.loudness import IntegratedLoudness
from curator_audio.waveform import Waveform
from measuring.figures import Figure
from sounds import Samples, tone, voice

MOST_EBUR, MOST_PYLOUDNORM, MOST_TONE = 0.05, 0.15, 0.02
_RATES = (8_000, 16_000, 44_100, 48_000)
_PYLOUDNORM_FROM = 16_000
"""At 8 kHz its filters lie .2 LU away from those of FFmpeg."""


def loudness(sizes: Sizes) -> Iterator[Figure]:
    away = abs(_ours(tone(sizes.seconds, 48_000, 997, 1.0), 48_000) + 3.01)
    what = "loudness of 997 Hz at full scale: -3.01 LUFS"
    yield Figure(what, f"within {MOST_TONE} LU", f"{away:.4f}", away <= MOST_TONE)
    every = list(_recordings(sizes))
    for name, peer, least_rate, most in (
        ("FFmpeg's ebur128", _ebur128, min(_RATES), MOST_EBUR),
        ("pyloudnorm", _pyloudnorm, _PYLOUDNORM_FROM, MOST_PYLOUDNORM),
    ):
        chosen = [(one, rate) for one, rate in every if rate >= least_rate]
        worst = max(abs(_ours(one, rate) - peer(one, rate)) for one, rate in chosen)
        what = f"loudness of {len(chosen)} recordings of {least_rate:,} Hz and more, by {name}"
        yield Figure(what, f"within {most} LU", f"{worst:.3f} at most", worst <= most)


def _recordings(sizes: Sizes) -> Iterator[tuple[Samples, int]]:
    """Loud and quiet halves, so that the gates have something to do."""
    for number in range(sizes.files):
        rate = _RATES[number % len(_RATES)]
        sound = voice(max(4, sizes.seconds), rate, number)
        sound[:, sound.shape[1] // 2 :] *= 10 ** (-(number % 5) * 6 / 20)
        yield (sound if number % 3 else np.vstack([sound, 0.5 * sound[:, ::-1]])), rate


def _ours(samples: Samples, rate: int) -> float:
    accumulator = IntegratedLoudness()
    step = rate * 10
    for first in range(0, samples.shape[1], step):
        accumulator.add(Waveform(samples[:, first : first + step], rate))
    return float(accumulator.result() or 0.0)


def _pyloudnorm(samples: Samples, rate: int) -> float:
    import pyloudnorm

    return float(pyloudnorm.Meter(rate).integrated_loudness(samples.T.astype(float)))


def _ebur128(samples: Samples, rate: int) -> float:
    """What the filter has said by the end, to a thousandth."""
    import av
    from av.filter import Graph

    layout = "mono" if samples.shape[0] == 1 else "stereo"
    graph = Graph()
    given = graph.add_abuffer(format="fltp", sample_rate=rate, layout=layout)
    filters: list[Any] = [given, graph.add("ebur128", "metadata=1"), graph.add("abuffersink")]
    for one, other in pairwise(filters):
        one.link_to(other)
    graph.configure()
    whole = np.ascontiguousarray(samples)
    frame = av.AudioFrame.from_ndarray(whole, format="fltp", layout=layout)
    frame.sample_rate, frame.pts = rate, 0
    given.push(frame)
    given.push(None)
    said = -70.0
    while True:
        try:
            told: Any = filters[-1].pull()
        except (av.BlockingIOError, av.EOFError):
            return said
        said = float(told.metadata.get("lavfi.r128.I", said))
