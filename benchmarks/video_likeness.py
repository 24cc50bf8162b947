"""How near clips are to what they were cut from, so that no side is faster by keeping less."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import av
import numpy as np
from curator_video.container import open_video
from curator_video.decoding import TimedFrame, decode_frames
from curator_video.tasks import ClipSpan

_WHITE = 255.0
_LEAST = 0.05
"""Of the mean square error: beyond it a picture counts as the same."""


@dataclass(frozen=True)
class Likeness:
    """Of some clips: their pictures, the bytes of these, and the mean PSNR of their luma."""

    pictures: int
    size: int
    decibels: float


def likeness(clips: Sequence[ClipSpan], contents: Sequence[bytes]) -> Likeness:
    found = [one for pair in zip(clips, contents, strict=True) for one in _decibels(*pair)]
    size = sum(map(_size, contents))
    return Likeness(len(found), size, float(np.mean(found)))


def _decibels(clip: ClipSpan, content: bytes) -> Iterator[float]:
    with open_video(clip.source) as video, av.open(io.BytesIO(content)) as container:
        source = decode_frames(video, clip.start, clip.end)
        for frame in container.decode(video=0):
            shown = next(source)
            assert isinstance(shown, TimedFrame), "the source is damaged"
            error = _luma(shown.frame) - _luma(frame)
            yield float(10 * np.log10(_WHITE**2 / max(float((error**2).mean()), _LEAST)))


def _luma(frame: av.VideoFrame) -> np.ndarray:
    plane = frame.planes[0]
    rows = np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)
    return rows[: frame.height, : frame.width].astype(np.float32)


def _size(content: bytes) -> int:
    with av.open(io.BytesIO(content)) as container:
        return sum(packet.size for packet in container.demux(video=0))
