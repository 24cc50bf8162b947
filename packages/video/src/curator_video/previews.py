"""Previews: small animations of clips."""

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from curator_video.analysis.frame_stage import FrameStage
from curator_video.analysis.measurements import FrameNeeds, Pixels
from curator_video.analysis.sampling import Sampling
from curator_video.tasks import Clip


@dataclass
class ClipPreviewer(FrameStage):
    """Make an animated WebP of each clip, which the writer puts into `previews/`.

    Its frames come from the decode that neighbouring stages share.
    """

    fps: float = 1.0
    """Frames per second, both sampled and shown."""

    height: int = 240
    """Maximum height in pixels."""

    quality: int = 50
    """Quality of the WebP, from 0 to 100."""

    def check(self) -> Iterator[str]:
        if not self.fps > 0:
            yield f"fps is {self.fps}, but must be more than 0"
        if self.height < 1:
            yield f"height is {self.height}, but must be 1 or more"
        if not 0 <= self.quality <= 100:
            yield f"quality is {self.quality}, but must be between 0 and 100"

    def frame_needs(self) -> FrameNeeds:
        return FrameNeeds(frames=frozenset({Sampling(self.fps, self.height)}))

    def process(self, task: Clip) -> Clip:
        frames = self.sample_frames(task, Sampling(self.fps, self.height))
        return task.with_preview(encode_animation(frames, self.fps, self.quality))


def encode_animation(frames: Sequence[Pixels], fps: float, quality: int) -> bytes:
    """Encode a WebP that plays at `fps` frames per second in a loop."""
    import av

    sink = io.BytesIO()
    with av.open(sink, "w", format="webp", options={"loop": "0"}) as container:
        rate = Fraction(fps).limit_denominator(1000)
        stream: Any = container.add_stream("libwebp_anim", rate=rate)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt, stream.options = "yuv420p", {"quality": str(quality)}
        stream.codec_context.thread_count = 1
        for number, pixels in enumerate(frames):
            frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
            frame.pts, frame.time_base = number, 1 / rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return sink.getvalue()
