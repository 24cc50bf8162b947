"""Ending: where the pictures of a video end, by its last packets rather than by its headers."""

from collections.abc import Iterator
from contextlib import suppress

from curator_video.decoding import Clock, go_to
from curator_video.facts import VideoFacts
from curator_video.opening import Opened, opened, packets
from curator_video.sources import VideoSource

_NEAR = 1.0
"""Seconds. A video that ends so much earlier was cut short, which whoever decodes it says."""
_HELD = 60.0
"""Seconds. A picture of a variable rate that is shown for longer has a wrong time."""


def end_of(source: VideoSource, facts: VideoFacts, most: float) -> float:
    """Where the last picture ends, if that is about where headers say it does; else as they say.

    It is before that where a video was cut short, or its sound is longer. Headers of an AVI that
    was cut short know nothing, and those of a variable rate little of what is shown last. What
    they claim is believed up to `most` seconds behind the last picture.
    """
    told = facts.duration
    with opened(source) as video:
        clock = Clock(video)
        go_to(video, told - _NEAR)
        ends = list(_ends(video, clock, facts.is_variable))
        last, longest = max(ends, default=0.0), _HELD if facts.is_variable else _NEAR
        if video.is_avi:  # in which there are packets for all of the time
            longest = max(_NEAR, len(ends) * clock.step)
    return last if -_NEAR <= last - told <= longest else min(told, last + most)


def _ends(video: Opened, clock: Clock, is_variable: bool) -> Iterator[float]:
    """When whole pictures that are still to come cease to be shown, as their packets say."""
    import av

    with suppress(av.FFmpegError):  # whoever decodes meets it again, and says so
        for packet in packets(video):
            time = clock.of_packet(packet)
            if packet.size and not packet.is_corrupt and time is not None:
                yield time + clock.length(packet, is_variable=is_variable)
