"""Mel bands: filter banks on the mel scale of Slaney's toolbox."""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_LINEAR = 200 / 3
"""Hertz per mel, below 1000 Hz."""

_CORNER = 1000.0

_OCTAVES = 6.4
"""Frequency ratio of 27 mels, above 1000 Hz."""

_STEPS = 27.0


@cache
def mel_bands(rate: int, window: int, bands: int, low: float = 0.0) -> "NDArray[np.float32]":
    """Return weights, shaped (bands, bins), of triangles of equal area from `low` to half the rate.

    The bins are those of a spectrum over `window` samples, odd or even.
    """
    import numpy as np

    hertz = np.arange(window // 2 + 1) * rate / window
    corners = _hertz(np.linspace(_mels(low), _mels(rate / 2), bands + 2))
    widths = np.diff(corners)
    distances = corners[:, None] - hertz[None]
    rising, falling = -distances[:-2] / widths[:-1, None], distances[2:] / widths[1:, None]
    areas = 2 / (corners[2:] - corners[:-2])
    heights = np.maximum(0, np.minimum(rising, falling)) * areas[:, None]
    return np.asarray(heights, np.float32)


def _mels(hertz: float) -> float:
    import numpy as np

    if hertz < _CORNER:
        return hertz / _LINEAR
    return float(_CORNER / _LINEAR + np.log(hertz / _CORNER) / np.log(_OCTAVES) * _STEPS)


def _hertz(mels: "NDArray[np.float64]") -> "NDArray[np.float64]":
    import numpy as np

    corner = _CORNER / _LINEAR
    above = _CORNER * _OCTAVES ** ((np.maximum(mels, corner) - corner) / _STEPS)
    return np.where(mels < corner, mels * _LINEAR, above)
