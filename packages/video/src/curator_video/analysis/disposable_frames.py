"""Reference analysis: find packets whose frames no other frame depends on.

The first header bytes of H.264 and HEVC units show this. In doubt, and for other codecs, a frame
counts as a reference.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from av import Packet
    from av.video.stream import VideoStream

    AnyPacket = Packet[VideoStream]

Unit: TypeAlias = tuple[int, int]
"""The first two bytes of an H.264 or HEVC unit."""

_START = re.compile(b"\x00\x00\x01(..)", re.DOTALL)
_H264_PICTURES, _H264_SETS = range(1, 6), (7, 8, 13, 15)
_HEVC_PICTURES, _HEVC_SETS = range(32), (32, 33, 34)
_MOST_UNITS = 256


def find_disposable(stream: "VideoStream", packets: "Sequence[AnyPacket]") -> list[bool]:
    """Return for each packet of a group after a keyframe whether decoding can skip it."""
    codec = _CODECS.get(stream.codec_context.codec.canonical_name)
    if codec is None:
        return [False] * len(packets)
    sized, layer_of = codec
    length = _length_size(stream.codec_context.extradata or b"", sized)
    layers = [layer_of(list(_units(packet, length))) for packet in packets]
    highest = max(abs(layer) for layer in layers)
    return [layer > 0 and layer == highest for layer in layers]


def _h264_layer(units: Sequence[Unit]) -> int:
    """Return 1 if no other frame depends on it, else -1."""
    kinds = [first & 31 for first, _ in units]
    frames = [first >> 5 & 3 for first, _ in units if first & 31 in _H264_PICTURES]
    is_disposable = bool(frames) and not any(frames)
    return 1 if is_disposable and not any(kind in _H264_SETS for kind in kinds) else -1


def _hevc_layer(units: Sequence[Unit]) -> int:
    """Return its temporal layer, from 1; negative if frames of the same layer depend on it.

    Frames of a higher layer may depend on any frame, so only the highest layer can be skipped.
    """
    kinds = [first >> 1 & 63 for first, _ in units]
    frames = [kind for kind in kinds if kind in _HEVC_PICTURES]
    layer = max((second & 7 for _, second in units), default=1)
    is_disposable = bool(frames) and all(kind < 16 and kind % 2 == 0 for kind in frames)
    return layer if is_disposable and not any(kind in _HEVC_SETS for kind in kinds) else -layer


_CODECS: dict[str, tuple[int, Callable[[Sequence[Unit]], int]]] = {
    "h264": (4, _h264_layer),
    "hevc": (21, _hevc_layer),
}
"""Offset of the length size in the track header, and the function that reads the units."""


def _length_size(extradata: bytes, offset: int) -> int:
    """Return the size of the length prefix in bytes; 0 if units are separated by start codes."""
    has_lengths = len(extradata) > offset and extradata[0] == 1
    return (extradata[offset] & 3) + 1 if has_lengths else 0


def _units(packet: "AnyPacket", length: int) -> Iterator[Unit]:
    content = bytes(packet)
    if not length:
        yield from ((one[1][0], one[1][1]) for one in _START.finditer(content))
        return
    at = 0
    for _ in range(_MOST_UNITS):
        if at + length + 2 > len(content):
            return
        yield content[at + length], content[at + length + 1]
        at += length + int.from_bytes(content[at : at + length], "big")
