"""Sound of a clip: copied, or re-encoded if the container cannot hold it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from curator_video.clips import Encoded
from curator_video.opening import Opened, packets_of, reason_of
from curator_video.probing import origin_of

if TYPE_CHECKING:
    from av.container import OutputContainer

_EARLY = 0.25
"""Seconds. Decoders need some sound from before the span."""

_WHOLE = 0.9
"""Sound that covers less than this share of a clip is reported as partly missing."""

_RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000)
_LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1", 8: "7.1"}
_FORMATS = {"aac": "fltp", "pcm_s16le": "s16"}


Way: TypeAlias = Literal["copied", "encoded", "none"]


class UnfitSoundError(Exception):
    """The container refused the sound, or part of it."""


def with_sound(make: Callable[[Way], Encoded]) -> Encoded:
    """Return a clip with its sound copied, else encoded, else without it and with the reason."""
    reason = ""
    ways: tuple[Way, ...] = ("copied", "encoded")
    for way in ways:
        try:
            return make(way)
        except UnfitSoundError as error:
            reason = str(error)
    silent = make("none")
    return replace(silent, changes=(*silent.changes, f"sound left out: {reason}"))


@dataclass
class Heard:
    """The packets of the first audio track in a span, and how to write them."""

    stream: Any
    start: float
    end: float
    encoder: str | None = None
    """The encoder; None copies the packets."""

    first: int = 0
    """Start of the span on the clock of the track."""

    packets: list[Any] = field(default_factory=list)
    problem: str = ""
    """Why some of the sound is missing."""

    @property
    def codec(self) -> str:
        return self.encoder or str(self.stream.codec_context.codec.canonical_name)

    @property
    def changes(self) -> Iterator[str]:
        source = self.stream.codec_context.codec.canonical_name
        if self.encoder not in (None, source):
            yield f"sound encoded as {self.encoder}, was {source}"
        if self.problem:
            yield f"sound is missing in part: {self.problem}"


def hear(
    video: Opened, start: float, end: float, encoder: str | None
) -> tuple[Heard | None, tuple[str, ...]]:
    """Return the sound from `start` up to `end`, or None and the reason why there is none.

    This moves the position of the container.
    """
    streams = video.container.streams.audio
    stream = next((one for one in streams if one.codec_context is not None), None)
    if stream is None:
        return None, ("sound left out: this av cannot decode its codec",) if streams else ()
    heard = _read(video, Heard(stream, start, end, encoder))
    if not any(packet.pts >= heard.first for packet in heard.packets):
        reason = heard.problem or "no packet of it has a time in the clip"
        return None, (f"sound left out: {reason}",)
    if encoder is not None and next(_decoded(heard), None) is None:
        return None, (f"sound left out: its {heard.stream.codec_context.name} cannot be decoded",)
    return heard, ()


def _read(video: Opened, heard: Heard) -> Heard:
    import av

    stream, tick = heard.stream, float(heard.stream.time_base or 1)
    origin = origin_of(video)
    heard.first, last = round((heard.start + origin) / tick), (heard.end + origin) / tick
    early = heard.first - (round(_EARLY / tick) if heard.encoder else 0)
    try:
        video.container.seek(max(0, early), stream=stream, backward=True)
        for packet in packets_of(stream, video.container):
            if packet.pts is None or packet.dts is None or packet.pts < early:
                continue
            if packet.pts >= last:
                break
            heard.packets.append(packet)
    except av.FFmpegError as error:  # damaged sound must not fail the clip
        heard.problem = reason_of(error)
    return heard


def _decoded(heard: Heard) -> Iterator[Any]:
    import av

    context = heard.stream.codec_context
    context.flush_buffers()
    behind = 0
    try:
        for packet in (*heard.packets, None):
            try:
                for frame in context.decode(packet):
                    if frame.pts is None:  # some decoders return the last frame without a time
                        frame.pts, frame.time_base = behind, heard.stream.time_base
                    length = frame.samples / frame.sample_rate
                    behind = frame.pts + round(length / frame.time_base)
                    yield frame
            except av.FFmpegError as error:
                heard.problem = reason_of(error)
    finally:
        context.flush_buffers()


class SoundTrack:
    """The sound track of a clip's file."""

    def __init__(self, container: "OutputContainer", heard: Heard) -> None:
        self._container = container
        self._heard = heard
        self._track = self._copied_track() if heard.encoder is None else self._encoded_track()

    def _copied_track(self) -> Any:
        try:
            track: Any = self._container.add_stream_from_template(self._heard.stream)
        except ValueError as error:  # also the base class of av's own error
            raise UnfitSoundError(str(error)) from None
        # av estimates it from the packets read so far: clips would depend on earlier ones.
        track.codec_context.bit_rate = 0
        return track

    def _encoded_track(self) -> Any:
        encoder, source = self._heard.encoder or "", self._heard.stream.codec_context
        rate = source.sample_rate if encoder != "aac" or source.sample_rate in _RATES else 48000
        layout = _LAYOUTS.get(source.channels, "stereo")
        track: Any = self._container.add_stream(encoder, rate=rate, layout=layout)
        track.codec_context.time_base = Fraction(1, rate)
        if encoder == "aac":
            track.codec_context.bit_rate = track.codec_context.channels * min(96_000, 4 * rate)
            track.codec_context.options = {"flags": "+bitexact"}
        return track

    def write(self, end: float) -> None:
        """Write the sound up to `end`, the end of the clip."""
        import av

        try:
            if self._heard.encoder is None:
                self._copy(end)
            else:
                self._encode(end)
        except (av.FFmpegError, ValueError) as error:
            raise UnfitSoundError(reason_of(error)) from error

    def _copy(self, end: float) -> None:
        heard = self._heard
        tick = heard.stream.time_base
        last = heard.first + (end - heard.start) / float(tick or 1)
        for packet in heard.packets:
            if heard.first <= packet.pts < last:
                packet.pts, packet.dts = packet.pts - heard.first, packet.dts - heard.first
                packet.stream = self._track
                self._container.mux(packet)

    def _encode(self, end: float) -> None:
        heard, graph, seconds = self._heard, None, end - self._heard.start
        covered = 0.0
        for frame in _decoded(heard):
            time = float((frame.pts - heard.first) * frame.time_base)
            frame.pts -= heard.first
            length = frame.samples / frame.sample_rate
            covered += max(0.0, min(time + length, seconds) - max(time, 0.0))
            if graph is None:
                graph = self._graph(frame, seconds)
            graph.push(frame)
            self._mux_ready(graph)
        if graph is not None:
            graph.push(None)
            self._mux_ready(graph)
        self._container.mux(self._track.encode(None))
        if covered < _WHOLE * seconds:
            heard.problem = heard.problem or f"it covers {covered:.1f} of {seconds:.1f} s"

    def _graph(self, frame: Any, seconds: float) -> Any:
        """Build the filters: fill gaps, such as a late start, with silence; trim early sound."""
        import av.filter

        graph, context = av.filter.Graph(), self._track.codec_context
        kind, layout = _FORMATS[self._heard.encoder or ""], context.layout.name
        steps = (
            ("aresample", f"{context.sample_rate}:async=1:first_pts=0"),
            ("atrim", f"end={seconds:.6f}"),
            ("aformat", f"sample_fmts={kind}:channel_layouts={layout}"),
            ("abuffersink", None),
        )
        source = graph.add_abuffer(
            sample_rate=frame.sample_rate,
            format=frame.format.name,
            layout=_LAYOUTS.get(frame.layout.nb_channels, frame.layout.name),
            time_base=frame.time_base,
        )
        graph.link_nodes(source, *(graph.add(*step) for step in steps)).configure()
        return graph

    def _mux_ready(self, graph: Any) -> None:
        import av

        while True:
            try:
                frame = graph.pull()
            except (av.BlockingIOError, av.EOFError):
                return
            self._container.mux(self._track.encode(frame))
