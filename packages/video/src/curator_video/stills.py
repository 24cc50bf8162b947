"""Still images: encode pictures of clips as JPEG or as an animated WebP, with av."""

import io
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from curator_video.analysis.observing import Pixels

_FINEST = 3
"""FFmpeg's JPEG quality, from 2 (best) to 31 (worst)."""


def jpeg(pixels: Pixels) -> bytes:
    """Encode one picture as JPEG, the format that model servers expect."""
    import av

    frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
    encoder: Any = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt = frame.width, frame.height, "yuvj420p"
    encoder.time_base = Fraction(1, 1)
    encoder.qmin = encoder.qmax = _FINEST
    encoder.thread_count = 1
    return b"".join(bytes(one) for one in encoder.encode(frame.reformat(format="yuvj420p")))


def animation(pictures: Sequence[Pixels], fps: float, quality: int) -> bytes:
    """Encode a WebP that plays at `fps` pictures per second in a loop."""
    import av

    sink = io.BytesIO()
    with av.open(sink, "w", format="webp", options={"loop": "0"}) as container:
        rate = Fraction(fps).limit_denominator(1000)
        stream: Any = container.add_stream("libwebp_anim", rate=rate)
        stream.height, stream.width = pictures[0].shape[:2]
        stream.pix_fmt, stream.options = "yuv420p", {"quality": str(quality)}
        stream.codec_context.thread_count = 1
        for number, pixels in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, 1 / rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return sink.getvalue()
