"""Frame preparation for encoders: deinterlaced, SDR, upright, 8 bits, even width and height."""

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from curator_video.decoding import TimedFrame
from curator_video.probing import ColorFacts, VideoFacts

if TYPE_CHECKING:
    from av import VideoFrame

_ROTATIONS = {90: "transpose=cclock", 180: "hflip,vflip", 270: "transpose=clock"}
_DEINTERLACE = "bwdif=mode=send_frame:deint=interlaced"
_TONE_MAP = (
    "scale=out_primaries=bt709:out_transfer=bt709:out_color_matrix=bt709:out_range=tv"
    ":intent=perceptual,format=yuv420p"
)

_TICK = Fraction(1, 90000)
_BT709 = 1
_RGB = 0
_LIMITED, _FULL = 1, 2
"""Colour ranges, as numbered by FFmpeg."""


class _FilterGraph:
    """A chain of FFmpeg filters."""

    def __init__(self, frame: "VideoFrame", steps: str) -> None:
        import av.filter

        self._graph = av.filter.Graph()
        nodes = [
            self._graph.add_buffer(
                width=frame.width,
                height=frame.height,
                format=frame.format,
                time_base=frame.time_base or _TICK,
            )
        ]
        for step in steps.split(","):
            name, _, options = step.partition("=")
            nodes.append(self._graph.add(name, options or None))
        nodes.append(self._graph.add("buffersink"))
        self._graph.link_nodes(*nodes).configure()

    def frames(self, frame: "VideoFrame | None") -> Iterator[Any]:
        """Push one frame, or None at the end, and yield the results."""
        import av

        self._graph.push(frame)
        while True:
            try:
                yield self._graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return

    def frame(self, frame: "VideoFrame") -> Any:
        """Filter one frame, where each input yields exactly one output."""
        self._graph.push(frame)
        return self._graph.pull()


class ToneMapper:
    """Map HDR to BT.709. Keep it: its tables take seconds to build."""

    def __init__(self) -> None:
        self._input: tuple[Any, ...] = ()
        self._graph: _FilterGraph | None = None

    def map(self, frame: Any, color: ColorFacts) -> Any:
        input_format = (frame.width, frame.height, frame.format.name, color)
        if self._graph is None or input_format != self._input:
            self._graph, self._input = _FilterGraph(frame, _TONE_MAP), input_format
        return self._graph.frame(frame)


class FramePreparer:
    """Prepare the frames of a clip, with times on the clock of the new file."""

    def __init__(self, facts: VideoFacts, start: float, tick: Fraction, mapper: ToneMapper) -> None:
        self._facts = facts
        self._start = start
        self._tick = tick
        self._mapper = mapper
        self._times: deque[float] = deque()
        self._deinterlacer: _FilterGraph | None = None
        self._orientation: _FilterGraph | None = None
        self._count = 0

    @property
    def changes(self) -> Iterator[str]:
        """Differences from the source."""
        if self._deinterlacer is not None:
            yield "deinterlaced"
        if self._facts.color.hdr:
            yield f"{self._facts.color.hdr} tone-mapped to BT.709"

    def add(self, timed: TimedFrame) -> Iterator[Any]:
        """Add a frame and yield the frames that are ready."""
        frame: Any = timed.frame
        self._times.append(timed.time)
        if self._deinterlacer is None and not frame.interlaced_frame:
            yield self._prepare(frame)
            return
        self._count += 1
        frame.pts = self._count
        if self._deinterlacer is None:
            self._deinterlacer = _FilterGraph(frame, _DEINTERLACE)
        for whole in self._deinterlacer.frames(frame):
            yield self._prepare(whole)

    def finish(self) -> Iterator[Any]:
        """Yield the frames that the deinterlacer still holds."""
        if self._deinterlacer is not None:
            for whole in self._deinterlacer.frames(None):
                yield self._prepare(whole)

    def _prepare(self, frame: Any) -> Any:
        if self._facts.color.hdr:
            frame = self._mapper.map(frame, self._facts.color)
        if steps := _orientation_filters(self._facts.rotation, frame):
            if self._orientation is None:
                self._orientation = _FilterGraph(frame, steps)
            frame = self._orientation.frame(frame)
        frame = _to_8_bits(frame)
        frame.pts = round((self._times.popleft() - self._start) / self._tick)
        frame.time_base = self._tick
        frame.pict_type = 0  # let the encoder choose the type
        return frame


def _orientation_filters(rotation: int, frame: "VideoFrame") -> str:
    steps = [_ROTATIONS[rotation]] if rotation in _ROTATIONS else []
    if frame.width % 2 or frame.height % 2:
        steps.insert(0, "format=yuv444p")  # where each pixel has its own colour
        steps.append("crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0")
    return ",".join(steps)


def _to_8_bits(frame: Any) -> Any:
    """Convert to 8-bit 4:2:0 with the same range; RGB becomes BT.709."""
    if frame.format.name == "yuv420p":
        return frame
    if frame.format.is_rgb:
        return frame.reformat(format="yuv420p", dst_colorspace=_BT709, dst_color_range=_LIMITED)
    return frame.reformat(format="yuv420p")


def tag_track(track: Any, facts: VideoFacts) -> None:
    """Copy the colour tags of the source to an encoder's track, as changed by the preparation."""
    context, color = track.codec_context, facts.color
    if color.hdr:
        color = ColorFacts(_BT709, _BT709, _BT709)
    elif color.matrix == _RGB:
        color = ColorFacts(color.primaries, color.transfer, _BT709)
    context.color_primaries, context.color_trc = color.primaries, color.transfer
    context.colorspace = color.matrix
    is_tagged = color != ColorFacts()
    context.color_range = _FULL if color.is_full_range else _LIMITED if is_tagged else 0
    width, height = map(int, facts.sample_aspect_ratio.split(":"))
    ratio = Fraction(width, height)
    if ratio != 1:
        context.sample_aspect_ratio = 1 / ratio if facts.rotation % 180 else ratio
