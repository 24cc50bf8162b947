"""Filmstrips: a few pictures of a clip side by side, embedded in the page."""

import base64
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from curator_core.errors import CuratorError, InputError

from curator_video.analysis.examining import examined
from curator_video.analysis.observing import Pixels
from curator_video.analysis.wants import Sampling, Wanted
from curator_video.clips import Span
from curator_video.probing import probe
from curator_video.reporting.records import Record
from curator_video.shards import source_at

if TYPE_CHECKING:
    from collections.abc import Sequence

PICTURES = 5
HEIGHT = 84
_GAP = 2


def strip(record: Record) -> str:
    """Return an image element, or a box with the error."""
    try:
        pictures = _pictures(record)
        encoded = _jpeg(np.concatenate(_side_by_side(pictures), axis=1))
    except (CuratorError, OSError) as error:
        return f'<div class="gone">{escape(str(error))}</div>'
    source = base64.b64encode(encoded).decode()
    return f'<img src="data:image/jpeg;base64,{source}" alt="">'


def _pictures(record: Record) -> "list[Pixels]":
    """Read pictures from the clip file, or from the span of the video if it was not cut."""
    location = record.facts.get("clip_location")
    source = source_at(str(location or record.video))
    facts = probe(source)
    edges = (0.0, facts.duration) if location else (record.start, record.end)
    sampling = Sampling(PICTURES / max(edges[1] - edges[0], 0.04), HEIGHT)
    span = Span(source, facts, *edges)
    found = examined(span, Wanted(frames=frozenset({sampling}))).pictures(sampling)
    if not found:
        raise InputError("no picture of it was found")
    return [picture for _, picture in found[:PICTURES]]


def _side_by_side(pictures: "Sequence[Pixels]") -> "list[Pixels]":
    gap = np.full((pictures[0].shape[0], _GAP, 3), 255, np.uint8)
    parts = [part for picture in pictures for part in (picture, gap)][:-1]
    return [part for part in parts if part.shape[0] == pictures[0].shape[0]]


def _jpeg(picture: Pixels) -> bytes:
    import av

    height, width = (side // 2 * 2 for side in picture.shape[:2])
    codec: Any = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = width, height, "yuvj420p"
    codec.time_base = Fraction(1, 25)
    codec.options = {"qmin": "4", "qmax": "4"}
    frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture[:height, :width]))
    frame = frame.reformat(format="yuvj420p")
    return b"".join(bytes(packet) for made in (frame, None) for packet in codec.encode(made))
