"""Sound of a clip: copied, or re-encoded if the container cannot hold it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from curator_video.container import OpenVideo, error_text, first_frame_time, stream_packets
from curator_video.tasks import EncodedClip

if TYPE_CHECKING:
    from av.container import OutputContainer

_PREROLL_S = 0.25
"""Seconds. Decoders need some sound from before the span."""

_COVERED_SHARE = 0.9
"""Sound that covers less than this share of a clip is reported as partly missing."""

_RATES = (96000, 88200, 64000, 48000, 44100, 32000, 24000, 22050, 16000, 12000, 11025, 8000)
_LAYOUTS = {1: "mono", 2: "stereo", 6: "5.1", 8: "7.1"}
_FORMATS = {"aac": "fltp", "pcm_s16le": "s16"}
SoundHandling: TypeAlias = Literal["copied", "encoded", "none"]


class UnsupportedSoundError(Exception):
    """The container refused the sound, or part of it."""


def cut_with_sound(make: Callable[[SoundHandling], EncodedClip]) -> EncodedClip:
    """Return a clip with its sound copied, else encoded, else without it and with the reason."""
    reason = ""
    handlings: tuple[SoundHandling, ...] = ("copied", "encoded")
    for handling in handlings:
        try:
            return make(handling)
        except UnsupportedSoundError as error:
            reason = str(error)
    silent = make("none")
    return replace(silent, changes=(*silent.changes, f"sound left out: {reason}"))


@dataclass
class ClipSound:
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


def read_clip_sound(
    video: OpenVideo, start: float, end: float, encoder: str | None
) -> tuple[ClipSound | None, tuple[str, ...]]:
    """Return the sound from `start` up to `end`, or None and the reason why there is none.

    This moves the position of the container.
    """
    streams = video.container.streams.audio
    stream = next((one for one in streams if one.codec_context is not None), None)
    if stream is None:
        return None, ("sound left out: this av cannot decode its codec",) if streams else ()
    sound = _read_packets(video, ClipSound(stream, start, end, encoder))
    if not any(packet.pts >= sound.first for packet in sound.packets):
        reason = sound.problem or "no packet of it has a time in the clip"
        return None, (f"sound left out: {reason}",)
    if encoder is not None and next(_decode(sound), None) is None:
        return None, (f"sound left out: its {sound.stream.codec_context.name} cannot be decoded",)
    return sound, ()


def _read_packets(video: OpenVideo, sound: ClipSound) -> ClipSound:
    import av

    stream, tick = sound.stream, float(sound.stream.time_base or 1)
    origin = first_frame_time(video)
    sound.first, last = round((sound.start + origin) / tick), (sound.end + origin) / tick
    early = sound.first - (round(_PREROLL_S / tick) if sound.encoder else 0)
    try:
        video.container.seek(max(0, early), stream=stream, backward=True)
        for packet in stream_packets(stream, video.container):
            if packet.pts is None or packet.dts is None or packet.pts < early:
                continue
            if packet.pts >= last:
                break
            sound.packets.append(packet)
    except av.FFmpegError as error:  # damaged sound must not fail the clip
        sound.problem = error_text(error)
    return sound


def _decode(sound: ClipSound) -> Iterator[Any]:
    import av

    context = sound.stream.codec_context
    context.flush_buffers()
    next_pts = 0
    try:
        for packet in (*sound.packets, None):
            try:
                for frame in context.decode(packet):
                    if frame.pts is None:  # some decoders return the last frame without a time
                        frame.pts, frame.time_base = next_pts, sound.stream.time_base
                    length = frame.samples / frame.sample_rate
                    next_pts = frame.pts + round(length / frame.time_base)
                    yield frame
            except av.FFmpegError as error:
                sound.problem = error_text(error)
    finally:
        context.flush_buffers()


class SoundTrack:
    """The sound track of a clip's file."""

    def __init__(self, container: "OutputContainer", sound: ClipSound) -> None:
        self._container = container
        self._sound = sound
        self._track = self._copied_track() if sound.encoder is None else self._encoded_track()

    def _copied_track(self) -> Any:
        try:
            track: Any = self._container.add_stream_from_template(self._sound.stream)
        except ValueError as error:  # also the base class of av's own error
            raise UnsupportedSoundError(str(error)) from None
        # av estimates it from the packets read so far: clips would depend on earlier ones.
        track.codec_context.bit_rate = 0
        return track

    def _encoded_track(self) -> Any:
        encoder, source = self._sound.encoder or "", self._sound.stream.codec_context
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
            if self._sound.encoder is None:
                self._copy(end)
            else:
                self._encode(end)
        except (av.FFmpegError, ValueError) as error:
            raise UnsupportedSoundError(error_text(error)) from error

    def _copy(self, end: float) -> None:
        sound = self._sound
        tick = sound.stream.time_base
        last = sound.first + (end - sound.start) / float(tick or 1)
        for packet in sound.packets:
            if sound.first <= packet.pts < last:
                packet.pts, packet.dts = packet.pts - sound.first, packet.dts - sound.first
                packet.stream = self._track
                self._container.mux(packet)

    def _encode(self, end: float) -> None:
        sound, graph, seconds = self._sound, None, end - self._sound.start
        covered = 0.0
        for frame in _decode(sound):
            time = float((frame.pts - sound.first) * frame.time_base)
            frame.pts -= sound.first
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
        if covered < _COVERED_SHARE * seconds:
            sound.problem = sound.problem or f"it covers {covered:.1f} of {seconds:.1f} s"

    def _graph(self, frame: Any, seconds: float) -> Any:
        """Build the filters: fill gaps, such as a late start, with silence; trim early sound."""
        import av.filter

        graph, context = av.filter.Graph(), self._track.codec_context
        kind, layout = _FORMATS[self._sound.encoder or ""], context.layout.name
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
