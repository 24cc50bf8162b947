"""Sound: the packets of a span, shifted as its pictures are."""

from typing import TYPE_CHECKING, Any

from curator_video.opening import Opened
from curator_video.probing import origin_of

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import OutputContainer


class SoundTrack:
    """The first audio track of a video, which is copied and never encoded again."""

    def __init__(self, container: "OutputContainer", video: Opened) -> None:
        self._container = container
        self._video = video
        found = [s for s in video.container.streams.audio if s.codec_context is not None]
        self._sound: Any = found[0] if found else None
        self._track: Any = container.add_stream_from_template(found[0]) if found else None

    def write(self, start: float, end: float) -> None:
        """What is heard from `start` up to `end`; the new file begins at `start`."""
        if self._track is not None:
            self._copy(self._sound, start, end)

    def _copy(self, stream: "AudioStream", start: float, end: float) -> None:
        import av

        video = self._video
        tick = float(stream.time_base or 1)
        first = round((start + origin_of(video.stream)) / tick)
        last = (end + origin_of(video.stream)) / tick
        try:
            video.container.seek(max(0, first), stream=stream, backward=True)
            for packet in video.container.demux(stream):
                if packet.pts is None or packet.dts is None or packet.pts < first:
                    continue
                if packet.pts >= last:
                    return
                packet.pts, packet.dts = packet.pts - first, packet.dts - first
                packet.stream = self._track
                self._container.mux(packet)
        except av.FFmpegError:
            return  # damaged sound ends here; the pictures are what the clip is about
