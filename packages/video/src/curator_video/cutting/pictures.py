"""Picture preparation for encoders: deinterlaced, SDR, upright, 8 bits, even sides."""

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from curator_video.decoding import Shown
from curator_video.facts import ColorFacts, VideoFacts

if TYPE_CHECKING:
    from av import VideoFrame

_TURNS = {90: "transpose=cclock", 180: "hflip,vflip", 270: "transpose=clock"}
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


class _Graph:
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
        """Push one picture, or None at the end, and yield the results."""
        import av

        self._graph.push(frame)
        while True:
            try:
                yield self._graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return

    def frame(self, frame: "VideoFrame") -> Any:
        """Filter one picture, where each input yields exactly one output."""
        self._graph.push(frame)
        return self._graph.pull()


class ToneMapper:
    """Map HDR to BT.709. Its tables take seconds to build, so it is kept."""

    def __init__(self) -> None:
        self._kind: tuple[Any, ...] = ()
        self._graph: _Graph | None = None

    def mapped(self, frame: Any, color: ColorFacts) -> Any:
        kind = (frame.width, frame.height, frame.format.name, color)
        if self._graph is None or kind != self._kind:
            self._graph, self._kind = _Graph(frame, _TONE_MAP), kind
        return self._graph.frame(frame)


class PictureMaker:
    """Prepare the pictures of a clip, with times on the clock of the new file."""

    def __init__(self, facts: VideoFacts, start: float, tick: Fraction, mapper: ToneMapper) -> None:
        self._facts = facts
        self._start = start
        self._tick = tick
        self._mapper = mapper
        self._times: deque[float] = deque()
        self._fields: _Graph | None = None
        self._turning: _Graph | None = None
        self._count = 0

    @property
    def changes(self) -> Iterator[str]:
        """Differences from the source."""
        if self._fields is not None:
            yield "deinterlaced"
        if self._facts.color.hdr:
            yield f"{self._facts.color.hdr} tone-mapped to BT.709"

    def add(self, shown: Shown) -> Iterator[Any]:
        """Add a picture and yield the pictures that are ready."""
        frame: Any = shown.frame
        self._times.append(shown.time)
        if self._fields is None and not frame.interlaced_frame:
            yield self._ready(frame)
            return
        self._count += 1
        frame.pts = self._count
        if self._fields is None:
            self._fields = _Graph(frame, _DEINTERLACE)
        for whole in self._fields.frames(frame):
            yield self._ready(whole)

    def rest(self) -> Iterator[Any]:
        """Yield the pictures that the deinterlacer still holds."""
        if self._fields is not None:
            for whole in self._fields.frames(None):
                yield self._ready(whole)

    def _ready(self, frame: Any) -> Any:
        if self._facts.color.hdr:
            frame = self._mapper.mapped(frame, self._facts.color)
        if steps := _steps(self._facts.rotation, frame):
            if self._turning is None:
                self._turning = _Graph(frame, steps)
            frame = self._turning.frame(frame)
        frame = _in_eight_bits(frame)
        frame.pts = round((self._times.popleft() - self._start) / self._tick)
        frame.time_base = self._tick
        frame.pict_type = 0  # let the encoder choose the type
        return frame


def _steps(rotation: int, frame: "VideoFrame") -> str:
    steps = [_TURNS[rotation]] if rotation in _TURNS else []
    if frame.width % 2 or frame.height % 2:
        steps.insert(0, "format=yuv444p")  # where each pixel has its own colour
        steps.append("crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0")
    return ",".join(steps)


def _in_eight_bits(frame: Any) -> Any:
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
