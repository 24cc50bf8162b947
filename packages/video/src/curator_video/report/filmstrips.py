"""Filmstrips: a few frames of each clip side by side, embedded in the page."""

import base64
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from curator_core.errors import CuratorError, InputError
from curator_core.io.filesystems import base_name

from curator_video.analysis.measurements import FrameNeeds, Pixels
from curator_video.analysis.sampling import Sampling
from curator_video.analysis.shared_decode import analyze_span
from curator_video.probing import probe
from curator_video.report.records import ClipRecord
from curator_video.shards import find_source
from curator_video.tasks import ClipSpan

if TYPE_CHECKING:
    from collections.abc import Sequence

FRAMES_SHOWN = 5
HEIGHT = 84
_GAP = 2


def figures(records: "Sequence[ClipRecord]", *, with_scores: bool = False) -> str:
    """Return the filmstrips of several clips, with captions."""
    shown = "".join(_figure(record, with_scores) for record in records)
    return f'<div class="strips">{shown}</div>' if shown else ""


def clock(seconds: float) -> str:
    """Format a time of a video."""
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:04.1f}" if hours else f"{minutes}:{rest:04.1f}"


def _figure(record: ClipRecord, with_scores: bool) -> str:
    reason = f" <b>{escape(record.reason)}</b>" if record.reason else ""
    caption = (
        f"{escape(base_name(record.video))} {clock(record.start)}-{clock(record.end)}{reason}"
        f"{_scores(record) if with_scores else ''}"
    )
    return f"<figure>{filmstrip(record)}<figcaption>{caption}</figcaption></figure>"


def _scores(record: ClipRecord) -> str:
    scores = " · ".join(
        f"{escape(name)}&nbsp;{escape(_number(value))}"
        for name, value in record.scores.items()
        if value is not None
    )
    return f'<div class="scores">{scores}</div>'


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def filmstrip(record: ClipRecord) -> str:
    """Return an image element, or a box with the error."""
    try:
        frames = _frames(record)
        encoded = _jpeg(np.concatenate(_side_by_side(frames), axis=1))
    except (CuratorError, OSError) as error:
        return f'<div class="missing">{escape(str(error))}</div>'
    source = base64.b64encode(encoded).decode()
    return f'<img src="data:image/jpeg;base64,{source}" alt="">'


def _frames(record: ClipRecord) -> "list[Pixels]":
    """Read frames from the clip file, or from the span of the video if it was not cut."""
    location = record.facts.get("clip_location")
    source = find_source(str(location or record.video))
    facts = probe(source)
    edges = (0.0, facts.duration) if location else (record.start, record.end)
    sampling = Sampling(FRAMES_SHOWN / max(edges[1] - edges[0], 0.04), HEIGHT)
    span = ClipSpan(source, facts, *edges)
    found = analyze_span(span, FrameNeeds(frames=frozenset({sampling}))).sampled_frames(sampling)
    if not found:
        raise InputError("none of its frames were found")
    return [frame for _, frame in found[:FRAMES_SHOWN]]


def _side_by_side(frames: "Sequence[Pixels]") -> "list[Pixels]":
    gap = np.full((frames[0].shape[0], _GAP, 3), 255, np.uint8)
    parts = [part for frame in frames for part in (frame, gap)][:-1]
    return [part for part in parts if part.shape[0] == frames[0].shape[0]]


def _jpeg(pixels: Pixels) -> bytes:
    import av

    height, width = (side // 2 * 2 for side in pixels.shape[:2])
    codec: Any = av.CodecContext.create("mjpeg", "w")
    codec.width, codec.height, codec.pix_fmt = width, height, "yuvj420p"
    codec.time_base = Fraction(1, 25)
    codec.options = {"qmin": "4", "qmax": "4"}
    even = np.ascontiguousarray(pixels[:height, :width])
    frame = av.VideoFrame.from_ndarray(even).reformat(format="yuvj420p")
    return b"".join(bytes(packet) for made in (frame, None) for packet in codec.encode(made))


STYLE = """
.strips { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr));
  gap: .8rem 1rem; margin: .3rem 0 1rem }
.strips figure { margin: 0; font-size: .75rem; line-height: 1.35 }
.strips img { max-width: 100%; max-height: 110px; display: block; margin-bottom: .2rem }
.strips figcaption { overflow-wrap: anywhere } .strips b { font-weight: 600 }
.strips .scores { opacity: .8 }
.missing { height: 84px; border: 1px dashed var(--line); padding: .4rem; box-sizing: border-box;
  opacity: .7; overflow: auto }
.video { margin: 0 0 1rem } .video h3 { margin: 0 0 .2rem; font-size: .95rem;
  overflow-wrap: anywhere }
.line { width: 100%; height: 26px; display: block } .line .film { fill: var(--line) }
.line .kept { fill: var(--good) } .line .dropped { fill: var(--bar) }
.times { display: flex; justify-content: space-between; font-size: .72rem; opacity: .8;
  font-variant-numeric: tabular-nums }
.video details { font-size: .8rem } .video ol { margin: .2rem 0; columns: 16rem }
.key { margin: 0 0 .6rem; display: flex; flex-wrap: wrap; gap: .1rem 1rem }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem;
  vertical-align: -1px }
.failures { padding-left: 0; list-style: none; font-size: .9rem }
.failures b { margin-right: .4rem }
.failures li { margin: 0 0 .4rem; overflow-wrap: anywhere }
"""
