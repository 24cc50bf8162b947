"""Ending: where the pictures of a video end, by its last packets rather than by its headers."""

from contextlib import suppress
from dataclasses import dataclass

from curator_video.decoding import Clock, go_to
from curator_video.facts import VideoFacts
from curator_video.opening import opened, packets
from curator_video.reaching import Reach
from curator_video.sources import VideoSource

_NEAR = 1.0
"""Seconds. A video that ends so much earlier was cut short, which whoever decodes it says."""
_HELD = 60.0
"""Seconds. A picture of a variable rate that is shown for longer has a wrong time."""


def last_end_of(source: VideoSource, facts: VideoFacts) -> float:
    """When the last picture of a whole video ceases to be shown, as its packet says."""
    return _last(source, facts).end


def end_of(source: VideoSource, facts: VideoFacts, most: float) -> float:
    """Where the last picture ends, if that is about where headers say it does; else as they say.

    It is before that where a video was cut short, or its sound is longer. Headers of an AVI that
    was cut short know nothing, and those of a variable rate little of what is shown last. What
    they claim is believed up to `most` seconds behind the beginning of the last picture.
    """
    told, last = facts.duration, _last(source, facts)
    longest = _HELD if facts.is_variable else _NEAR
    if facts.container == "avi":  # in which there are packets for all of the time
        longest = max(_NEAR, last.count / (facts.fps or 25))
    is_told = -_NEAR <= last.end - told <= longest
    return min(last.end if is_told else told, last.start + most)


@dataclass(frozen=True)
class _Last:
    """The picture that is shown last, and how many packets were read to find it."""

    start: float
    end: float
    count: int


def _last(source: VideoSource, facts: VideoFacts) -> _Last:
    import av

    with opened(source) as video:
        reach = Reach(video, Clock(video))
        go_to(video, facts.duration - _NEAR)
        with suppress(av.FFmpegError):  # whoever decodes meets it again, and says so
            for packet in packets(video):
                reach.add(packet)
        return _Last(reach.newest, reach.end, reach.count)
