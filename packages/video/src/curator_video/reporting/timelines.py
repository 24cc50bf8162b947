"""Timelines: the kept and dropped clips of a video along its duration."""

from collections.abc import Sequence
from html import escape

from curator_core.reporting.figures import counted

from curator_video.reporting.records import Record

_WIDTH, _HEIGHT = 1000.0, 26


def timeline(records: Sequence[Record]) -> str:
    """Return a bar for the video's duration, with kept and dropped clips at their times."""
    length = max([*(record.end for record in records), *(_length(record) for record in records)])
    ordered = sorted(records, key=lambda record: record.start)
    shapes = "".join(_shape(record, _WIDTH / length) for record in ordered)
    times = "".join(f"<span>{clock(place * length / 4)}</span>" for place in range(5))
    return (
        f'<svg class="line" viewBox="0 0 {_WIDTH:g} {_HEIGHT}" preserveAspectRatio="none">'
        f'<rect class="film" width="{_WIDTH:g}" height="{_HEIGHT}"/>{shapes}</svg>'
        f'<div class="times">{times}</div>{_cuts(ordered)}'
    )


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds, 1), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{rest:04.1f}" if hours else f"{minutes}:{rest:04.1f}"


def _length(record: Record) -> float:
    return float(record.facts.get("duration_source") or 0.0)


def _shape(record: Record, scale: float) -> str:
    left, width = record.start * scale, max(1.0, (record.end - record.start) * scale - 1)
    kind = "dropped" if record.dropped_by else "kept"
    told = f"{clock(record.start)}-{clock(record.end)} {record.reason or 'kept'}"
    return (
        f'<rect class="{kind}" x="{left:.1f}" width="{width:.1f}" height="{_HEIGHT}">'
        f"<title>{escape(told)}</title></rect>"
    )


def _cuts(ordered: Sequence[Record]) -> str:
    lines = "".join(
        f"<li>{clock(one.start)} - {clock(one.end)} {escape(one.reason or 'kept')}</li>"
        for one in ordered
    )
    return f"<details><summary>{counted(len(ordered), 'clip')}</summary><ol>{lines}</ol></details>"
