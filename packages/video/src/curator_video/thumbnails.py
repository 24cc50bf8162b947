"""Thumbnails: one frame of a video as a small JPEG."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from curator_video.container import open_video
from curator_video.decoding import TimedFrame, decode_frames
from curator_video.source import VideoSource

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_HEIGHT = 144

_JPEG_QUALITY = 3
"""FFmpeg's JPEG quality, from 2 (best) to 31 (worst)."""


def encode_jpeg(pixels: "NDArray[np.uint8]") -> bytes:
    """Encode one frame as JPEG, the format that model servers expect."""
    import av

    frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
    encoder: Any = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.time_base = Fraction(1, 1)
    encoder.qmin = encoder.qmax = _JPEG_QUALITY
    encoder.thread_count = 1
    return b"".join(bytes(one) for one in encoder.encode(frame.reformat(format="yuvj420p")))


def encode_thumbnail(source: VideoSource, time: float) -> bytes | None:
    """Return the frame at a time, or None if there is none."""
    import numpy as np

    with open_video(source) as video:
        items = decode_frames(video, time)
        found = next((item.frame for item in items if isinstance(item, TimedFrame)), None)
        if found is None:
            return None
        height = min(_HEIGHT, found.height)
        width = max(2, round(found.width * height / found.height))
        pixels = found.reformat(width, height, "rgb24").to_ndarray()
        turns = int(found.rotation) // 90 % 4
        return encode_jpeg(np.ascontiguousarray(np.rot90(pixels, turns)))
