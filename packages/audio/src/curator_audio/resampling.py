"""Resampling: a stream of blocks at another rate, as if it had been one piece."""

from collections.abc import Iterable, Iterator
from itertools import chain
from math import ceil, gcd
from typing import TYPE_CHECKING, Any

from curator_audio.forms import Quality

if TYPE_CHECKING:
    import torch

    from curator_audio.waveforms import Samples

_WIDTH, _ROLLOFF, _BETA = 64, 0.9475937167399596, 14.769656459379492
"""The window that librosa knows as `kaiser_best`: aliases lie 148 dB below."""

_TINY = 4096


def resampled(
    blocks: "Iterable[Samples]", old: int, new: int, quality: Quality
) -> "Iterator[Samples]":
    """Blocks at the rate `new`: as many samples as `ceil(count * new / old)`."""
    if old == new:
        yield from blocks
        return
    coming = iter(blocks)
    first = next(coming, None)
    if first is None:
        return
    is_tiny = first.shape[1] < _TINY  # FFmpeg gives nothing for what is shorter than its filter
    resample = _windowed if quality == "best" or is_tiny else _filtered
    yield from resample(chain([first], coming), old, new)


def _filtered(blocks: "Iterable[Samples]", old: int, new: int) -> "Iterator[Samples]":
    """FFmpeg's resampler, each channel by itself: it mixes what it takes for a layout."""
    import numpy as np

    resamplers: list[Any] = []
    taken = given = 0
    for block in blocks:
        resamplers = resamplers or [_resampler(new) for _ in block]
        rows = [_pushed(one, row, old) for one, row in zip(resamplers, block, strict=True)]
        taken += block.shape[1]
        given += rows[0].size
        if rows[0].size:
            yield np.stack(rows)
    rest = np.stack([_joined(one.resample(None)) for one in resamplers])
    missing = -(-taken * new // old) - given
    if missing > 0:
        yield np.pad(rest, ((0, 0), (0, max(0, missing - rest.shape[1]))))[:, :missing]


def _resampler(rate: int) -> Any:
    from av.audio.resampler import AudioResampler

    return AudioResampler(format="fltp", layout="mono", rate=rate)


def _pushed(resampler: Any, row: Any, rate: int) -> Any:
    import av
    import numpy as np

    frame = av.AudioFrame.from_ndarray(
        np.ascontiguousarray(row[None]), format="fltp", layout="mono"
    )
    frame.sample_rate = rate
    return _joined(resampler.resample(frame))


def _joined(frames: Iterable[Any]) -> Any:
    import numpy as np

    found = [frame.to_ndarray()[0] for frame in frames]
    return np.concatenate(found) if found else np.zeros(0, np.float32)


def _windowed(blocks: "Iterable[Samples]", old: int, new: int) -> "Iterator[Samples]":
    """Pieces with what lies around them, so that no seam can be heard."""
    import torch

    unit = gcd(old, new)
    step_in, step_out = old // unit, new // unit
    steps = ceil(_WIDTH * max(1.0, old / new) / _ROLLOFF / step_in) + 1
    margin = steps * step_in
    waiting: torch.Tensor | None = None
    lead = 0
    for block in blocks:
        fresh = torch.from_numpy(block)
        waiting = fresh if waiting is None else torch.cat([waiting, fresh], dim=1)
        ready = (waiting.shape[1] - lead - margin) // step_in * step_in
        if ready > 0:
            whole = _convolved(waiting[:, : lead + ready + margin], old, new)
            start = lead // step_in * step_out
            yield whole[:, start : start + ready // step_in * step_out].numpy()
            cut = max(0, lead + ready - margin)
            waiting, lead = waiting[:, cut:], lead + ready - cut
    if waiting is not None and waiting.shape[1] > lead:
        whole = _convolved(waiting, old, new)
        yield whole[:, lead // step_in * step_out :].numpy()


def _convolved(samples: "torch.Tensor", old: int, new: int) -> "torch.Tensor":
    from curator_audio._torchaudio import torchaudio

    found: torch.Tensor = torchaudio.functional.resample(
        samples,
        old,
        new,
        lowpass_filter_width=_WIDTH,
        rolloff=_ROLLOFF,
        resampling_method="sinc_interp_kaiser",
        beta=_BETA,
    )
    return found
