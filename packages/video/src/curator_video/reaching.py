"""Reaching: how far the pictures of a file go by its packets, and whether that is all of them.

A last picture may be shown for long. So an end is missing where packets are, and not where
pictures just do not follow each other.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

    from curator_video.decoding import Clock
    from curator_video.opening import Opened

TOLERATED = 1.0
"""Seconds. A video that ends so much earlier than its headers say was cut short."""


class Reach:
    """What the packets that were read so far say of the end."""

    def __init__(self, video: "Opened", clock: "Clock") -> None:
        self._stream = video.stream
        self._clock = clock
        self._is_mp4 = "mov" in video.container.format.name
        self._is_reordered = video.delay > 0
        self._stored: tuple[int, int] | None = None
        self._until = 0.0
        self.count = 0
        self.newest = 0.0
        """When the last of their pictures begins to be shown."""

    def add(self, packet: "Packet[VideoStream]") -> None:
        """The next packet, whatever is in it."""
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
        """When all of their pictures cease to be shown.

        Where they are stored in another order, MP4 tells when the next one is decoded, before
        which it is not shown; in the end that is as late as all of them together are shown.
        """
        if not (self._is_mp4 and self._is_reordered and self._stored):
            return self._until
        last = self._stored[1]
        if self._is_all:
            told = (self._stream.start_time or 0) + (self._stream.duration or 0)
            last = min(last + self._early, told)
        return max(self._until, self._clock.at(last))

    def lacks(self, wanted: float, shown: float) -> bool:
        """Whether what is wanted up to a time is not there, where pictures end at `shown`."""
        if wanted - shown <= TOLERATED:
            return False
        is_decoded = self.newest < shown + TOLERATED
        return not (is_decoded and (self._is_all or wanted - self.end <= TOLERATED))

    @property
    def _is_all(self) -> bool:
        """Whether the last packet is the last one of an index that has all of them."""
        entries = self._stream.index_entries
        if not self._is_mp4 or not len(entries) or self._stored is None:
            return False
        if self._stored[0] < entries[-1].timestamp:
            return False
        told = (self._stream.duration or 0) + entries[0].timestamp
        # An index in fragments has those that were met so far.
        return len(entries) <= self._stream.frames or 0 < told <= self._stored[1]

    @property
    def _early(self) -> int:
        """By so many ticks the first picture is decoded before it is shown."""
        return (self._stream.start_time or 0) - self._stream.index_entries[0].timestamp
