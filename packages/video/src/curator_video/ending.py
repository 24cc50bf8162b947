"""End of a video: find where the pictures end from the last packets, not from the headers."""

from contextlib import suppress
from dataclasses import dataclass

from curator_video.decoding import Clock, go_to
from curator_video.facts import VideoFacts
from curator_video.opening import opened, packets
from curator_video.reaching import Reach
from curator_video.sources import VideoSource

_NEAR = 1.0
"""Seconds. A video that ends earlier than its headers by more than this was cut short; decoding
reports it."""
_HELD = 60.0
"""Seconds. With a variable rate, a picture that is shown for longer than this has a wrong time."""


def last_end_of(source: VideoSource, facts: VideoFacts) -> float:
    """Return when the last picture of an intact video ends, according to its packet."""
    return _last(source, facts).end


def end_of(source: VideoSource, facts: VideoFacts, most: float) -> float:
    """Return the end of the last picture if it is close to the duration in the headers, else that.

    The pictures end earlier if a video was cut short or its sound is longer. The headers of a
    truncated AVI have no duration, and those of variable-rate videos are imprecise about the last
    picture. The headers are believed up to `most` seconds after the start of the last picture.
    """
    told, last = facts.duration, _last(source, facts)
    longest = _HELD if facts.is_variable else _NEAR
    if facts.container == "avi":  # AVI has packets for the whole duration
        longest = max(_NEAR, last.count / (facts.fps or 25))
    is_told = -_NEAR <= last.end - told <= longest
    return min(last.end if is_told else told, last.start + most)


@dataclass(frozen=True)
class _Last:
    """The picture shown last, and the number of packets read to find it."""

    start: float
    end: float
    count: int


def _last(source: VideoSource, facts: VideoFacts) -> _Last:
    import av

    with opened(source) as video:
        reach = Reach(video, Clock(video))
        go_to(video, facts.duration - _NEAR)
        with suppress(av.FFmpegError):  # decoding meets the same error and reports it
            for packet in packets(video):
                reach.add(packet)
        return _Last(reach.newest, reach.end, reach.count)
