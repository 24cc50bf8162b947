"""Reach: how far the packets of a file cover its pictures, and whether any are missing.

A last picture may be shown for long. The end of a video is therefore missing only if packets are,
not if there is a gap between pictures.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

    from curator_video.decoding import Clock
    from curator_video.opening import Opened

TOLERATED = 1.0
"""Seconds. A video that ends earlier than its headers by more than this was cut short."""


class Reach:
    """Track the end of the pictures from the packets read so far."""

    def __init__(self, video: "Opened", clock: "Clock") -> None:
        self._stream = video.stream
        self._clock = clock
        self._is_mp4 = "mov" in video.container.format.name
        self._is_reordered = video.delay > 0
        self._stored: tuple[int, int] | None = None
        self._until = 0.0
        self.count = 0
        self.newest = 0.0
        """When the last of the pictures begins to be shown."""

    def add(self, packet: "Packet[VideoStream]") -> None:
        """Add the next packet; damaged ones are ignored."""
        time = self._clock.of_packet(packet)
        if not packet.size or packet.is_corrupt or time is None:
            return
        if packet.dts is not None:
            self._stored = packet.dts, packet.dts + (packet.duration or 0)
        self.count += 1
        self.newest = max(self.newest, time)
        length = self._clock.length(packet, is_variable=self._is_mp4)
        self._until = max(self._until, time + length)

    @property
    def end(self) -> float:
        """When all pictures have ended.

        For reordered pictures, MP4 stores when the next one is decoded, which is the earliest time
        it can be shown. At the end of the track, that is adjusted by the decoding delay.
        """
        if not (self._is_mp4 and self._is_reordered and self._stored):
            return self._until
        last = self._stored[1]
        if self._is_all:
            told = (self._stream.start_time or 0) + (self._stream.duration or 0)
            last = min(last + self._early, told)
        return max(self._until, self._clock.at(last))

    def lacks(self, wanted: float, shown: float) -> bool:
        """Return whether pictures up to `wanted` are missing if the decoded ones end at `shown`."""
        if wanted - shown <= TOLERATED:
            return False
        is_decoded = self.newest < shown + TOLERATED
        return not (is_decoded and (self._is_all or wanted - self.end <= TOLERATED))

    @property
    def _is_all(self) -> bool:
        """Whether the last packet read is the last one of a complete index."""
        entries = self._stream.index_entries
        if not self._is_mp4 or not len(entries) or self._stored is None:
            return False
        if self._stored[0] < entries[-1].timestamp:
            return False
        told = (self._stream.duration or 0) + entries[0].timestamp
        # The index of a fragmented file only has the fragments read so far.
        return len(entries) <= self._stream.frames or 0 < told <= self._stored[1]

    @property
    def _early(self) -> int:
        """Ticks between the decoding and the presentation of the first picture."""
        return (self._stream.start_time or 0) - self._stream.index_entries[0].timestamp
