"""Pictures made ready for an encoder: without fields, in SDR, upright, in 8 bits, of even sides."""

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
"""Ranges, as FFmpeg counts."""


class _Graph:
    """A chain of filters."""

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
        """What comes out when a picture, or the end, goes in."""
        import av

        self._graph.push(frame)
        while True:
            try:
                yield self._graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return

    def frame(self, frame: "VideoFrame") -> Any:
        """What a picture becomes, where each goes in and out by itself."""
        self._graph.push(frame)
        return self._graph.pull()


class ToneMapper:
    """Brings HDR into the range of usual screens. Its tables take seconds to make, and are kept."""

    def __init__(self) -> None:
        self._kind: tuple[Any, ...] = ()
        self._graph: _Graph | None = None

    def mapped(self, frame: Any, color: ColorFacts) -> Any:
        kind = (frame.width, frame.height, frame.format.name, color)
        if self._graph is None or kind != self._kind:
            self._graph, self._kind = _Graph(frame, _TONE_MAP), kind
        return self._graph.frame(frame)


class PictureMaker:
    """Makes the pictures of a clip ready, with their times on the clock of the new file."""

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
        """What is different from the source."""
        if self._fields is not None:
            yield "deinterlaced"
        if self._facts.color.hdr:
            yield f"{self._facts.color.hdr} tone-mapped to BT.709"

    def add(self, shown: Shown) -> Iterator[Any]:
        """The pictures that are ready once this one is there."""
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
        """Those that waited for another one."""
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
        frame.pict_type = 0  # the encoder decides, not what it was before
        return frame


def _steps(rotation: int, frame: "VideoFrame") -> str:
    steps = [_TURNS[rotation]] if rotation in _TURNS else []
    if frame.width % 2 or frame.height % 2:
        steps.insert(0, "format=yuv444p")  # where each pixel has a colour of its own
        steps.append("crop=trunc(iw/2)*2:trunc(ih/2)*2:0:0")
    return ",".join(steps)


def _in_eight_bits(frame: Any) -> Any:
    """As 4:2:0 of 8 bits, of the same range; RGB becomes BT.709."""
    if frame.format.name == "yuv420p":
        return frame
    if frame.format.is_rgb:
        return frame.reformat(format="yuv420p", dst_colorspace=_BT709, dst_color_range=_LIMITED)
    return frame.reformat(format="yuv420p")


def tag_track(track: Any, facts: VideoFacts) -> None:
    """Say of the pictures of an encoder what the source says of them, as they are made ready."""
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
