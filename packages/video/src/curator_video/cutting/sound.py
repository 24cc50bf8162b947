"""Sound: the packets of a span, shifted as its pictures are."""

from typing import TYPE_CHECKING, Any

from curator_video.opening import Opened, packets_of
from curator_video.probing import origin_of

if TYPE_CHECKING:
    from av.container import OutputContainer


class SoundTrack:
    """The first audio track of a video, which is copied and never encoded again."""

    def __init__(self, container: "OutputContainer", video: Opened) -> None:
        self._container = container
        found = [s for s in video.container.streams.audio if s.codec_context is not None]
        self._index = found[0].index if found else -1
        self._track: Any = container.add_stream_from_template(found[0]) if found else None
        if self._track is not None:
            # What was read so far is how it is guessed: clips would depend on those before them.
            self._track.codec_context.bit_rate = 0

    def write(self, video: Opened, start: float, end: float) -> None:
        """What is heard from `start` up to `end`; the new file begins at `start`.

        `video` is what the track was made for, maybe opened once more. It is left at another place.
        """
        if self._track is not None:
            self._copy(video, start, end)

    def _copy(self, video: Opened, start: float, end: float) -> None:
        import av

        stream: Any = video.container.streams[self._index]
        tick = float(stream.time_base or 1)
        origin = origin_of(video)
        first, last = round((start + origin) / tick), (end + origin) / tick
        try:
            video.container.seek(max(0, first), stream=stream, backward=True)
            for packet in packets_of(stream, video.container):
                if packet.pts is None or packet.dts is None or packet.pts < first:
                    continue
                if packet.pts >= last:
                    return
                packet.pts, packet.dts = packet.pts - first, packet.dts - first
                packet.stream = self._track
                self._container.mux(packet)
        except av.FFmpegError:
            return  # damaged sound ends here; the pictures are what the clip is about
