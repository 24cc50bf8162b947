"""Resampling: convert a stream of blocks to another rate as if it were one piece."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import ceil, floor, gcd
from typing import TYPE_CHECKING, Any

from curator_audio.waveform import Quality

if TYPE_CHECKING:
    from curator_audio.waveform import Samples


_WIDTH, _ROLLOFF, _BETA = 64, 0.9475937167399596, 14.769656459379492
"""The parameters of librosa's `kaiser_best`: aliases are 148 dB down."""

_MIN_FFMPEG_SAMPLES = 4096

_AT_ONCE = 256 * 1024
"""Samples to process as a matrix at a time: few enough to stay in the CPU cache."""


def resample_blocks(
    blocks: "Iterable[Samples]", old: int, new: int, quality: Quality
) -> "Iterator[Samples]":
    """Yield blocks at the rate `new`, `ceil(count * new / old)` samples in total."""
    if old == new:
        yield from blocks
        return
    iterator = iter(blocks)
    first = next(iterator, None)
    if first is None:
        return
    is_tiny = first.shape[1] < _MIN_FFMPEG_SAMPLES  # too short for FFmpeg's filter
    resample = _resample_windowed if quality == "best" or is_tiny else _resample_ffmpeg
    yield from resample(chain([first], iterator), old, new)


def _resample_ffmpeg(blocks: "Iterable[Samples]", old: int, new: int) -> "Iterator[Samples]":
    """Resample with FFmpeg, each channel alone, so that it does not mix channels by layout."""
    import numpy as np

    resamplers: list[Any] = []
    num_in = num_out = 0
    for block in blocks:
        resamplers = resamplers or [_resampler(new) for _ in block]
        rows = [_push(one, row, old) for one, row in zip(resamplers, block, strict=True)]
        num_in += block.shape[1]
        num_out += rows[0].size
        if rows[0].size:
            yield np.stack(rows)
    rest = np.stack([_join_frames(one.resample(None)) for one in resamplers])
    missing = -(-num_in * new // old) - num_out
    if missing > 0:
        yield np.pad(rest, ((0, 0), (0, max(0, missing - rest.shape[1]))))[:, :missing]


def _resampler(rate: int) -> Any:
    from av.audio.resampler import AudioResampler

    return AudioResampler(format="fltp", layout="mono", rate=rate)


def _push(resampler: Any, row: Any, rate: int) -> Any:
    import av
    import numpy as np

    frame = av.AudioFrame.from_ndarray(
        np.ascontiguousarray(row[None]), format="fltp", layout="mono"
    )
    frame.sample_rate = rate
    return _join_frames(resampler.resample(frame))


def _join_frames(frames: Iterable[Any]) -> Any:
    import numpy as np

    found = [frame.to_ndarray()[0] for frame in frames]
    return np.concatenate(found) if found else np.zeros(0, np.float32)


def _resample_windowed(blocks: "Iterable[Samples]", old: int, new: int) -> "Iterator[Samples]":
    """Compute each output sample as a weighted sum of the input within a window."""
    import numpy as np

    bank = _bank(old, new)
    pending: Samples | None = None
    num_in = num_out = 0
    for block in blocks:
        if pending is None:  # silence precedes the recording
            pending = np.zeros((block.shape[0], bank.reach), np.float32)
        pending = np.concatenate([pending, block], axis=1)
        num_in += block.shape[1]
        steps = (pending.shape[1] - 2 * bank.reach) // bank.step_in
        if steps > 0:
            yield bank.apply(pending, steps)
            num_out += steps * bank.step_out
            pending = pending[:, steps * bank.step_in :]
    missing = -(-num_in * new // old) - num_out
    if pending is not None and missing > 0:
        steps = ceil(missing / bank.step_out)
        size = steps * bank.step_in + 2 * bank.reach
        padded = np.pad(pending, ((0, 0), (0, max(0, size - pending.shape[1]))))
        yield bank.apply(padded, steps)[:, :missing]


@dataclass(frozen=True)
class _Bank:
    """Weights for the output samples of one step, in groups that use nearly the same input."""

    step_in: int
    step_out: int
    reach: int
    """Input samples used before and after an output sample."""

    groups: "tuple[tuple[int, int, Samples], ...]"
    """For each group: its first output sample, its first input sample, and the weights, shaped
    (input samples, output samples).
    """

    def apply(self, samples: "Samples", steps: int) -> "Samples":
        """Return the output of `steps` steps; the first begins `reach` samples into the input."""
        import numpy as np

        made = np.empty((samples.shape[0], steps, self.step_out), np.float32)
        for channel, row in enumerate(samples):
            for first, start, weights in self.groups:
                seen, count = weights.shape
                views = np.lib.stride_tricks.sliding_window_view(row[start:], seen)
                at_once = max(1, _AT_ONCE // seen)
                for step in range(0, steps, at_once):
                    last = min(steps, step + at_once)
                    part = views[step * self.step_in : last * self.step_in : self.step_in]
                    made[channel, step:last, first : first + count] = (
                        np.ascontiguousarray(part) @ weights
                    )
        return made.reshape(samples.shape[0], -1)


@lru_cache(maxsize=8)
def _bank(old: int, new: int) -> _Bank:
    """Return a sinc filter below the lower of both rates, with a Kaiser window."""
    import numpy as np

    unit = gcd(old, new)
    cutoff = min(1.0, new / old) * _ROLLOFF
    reach = ceil(_WIDTH / cutoff)
    repeats = ceil(2 * reach / (old // unit))  # joins short steps to copy less
    step_in, step_out = old // unit * repeats, new // unit * repeats
    size = min(step_out, max(1, 2 * reach * step_out // step_in))
    groups = []
    for first in range(0, step_out, size):
        moments = np.arange(first, min(step_out, first + size)) * (old / new)
        start, end = floor(moments[0]), floor(moments[-1]) + 2 * reach + 1
        distance = (np.arange(start, end)[:, None] - reach - moments[None]) * cutoff
        inside = np.sqrt(np.maximum(0, 1 - (distance / _WIDTH) ** 2))
        window = np.where(np.abs(distance) < _WIDTH, np.i0(_BETA * inside) / np.i0(_BETA), 0)
        groups.append((first, start, (cutoff * np.sinc(distance) * window).astype(np.float32)))
    return _Bank(step_in, step_out, reach, tuple(groups))
