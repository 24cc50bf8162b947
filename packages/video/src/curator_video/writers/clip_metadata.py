"""Clip records: the JSON metadata of each clip, and its row in the index."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from curator_video.tasks import Clip

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = ("clip_location", "codec", "method", "audio", "changes")
_COUNTS = ("frames", "bytes")


def clip_metadata(
    clip: Clip, location: str | None, dropped: dict[str, str] | None
) -> dict[str, Any]:
    """Return the JSON metadata of a clip: the keys of NeMo Curator's `metas/v0`, and some more."""
    span, facts = clip.data, clip.data.facts
    metadata: dict[str, Any] = {
        "span_uuid": clip.clip_id,
        "source_video": clip.path,
        "duration_span": [span.start, span.end],
        "width_source": facts.width,
        "height_source": facts.height,
        "framerate_source": facts.fps,
        "duration_source": facts.duration,
        "sample_aspect_ratio_source": facts.sample_aspect_ratio,
        "clip_location": location,
        "valid": dropped is None,
        "cut": _file_facts(clip),
        "scores": dict(clip.scores),
    }
    if "motion_mean" in clip.scores:
        metadata["motion_score"] = {
            "global_mean": clip.scores["motion_mean"],
            "per_patch_min_256": clip.scores.get("motion_patch_minimum"),
        }
    if "aesthetic_score" in clip.scores:
        metadata["aesthetic_score"] = clip.scores["aesthetic_score"]
    if clip.metadata:
        metadata["metadata"] = clip.metadata
    if span.windows:
        metadata["windows"] = [window.as_dict() for window in span.windows]
    return metadata if dropped is None else {**metadata, "filtered": dropped}


def _file_facts(clip: Clip) -> dict[str, Any] | None:
    encoded = clip.data.encoded
    if encoded is None:
        return None
    return {
        "method": encoded.method,
        "codec": encoded.codec,
        "start": encoded.start,
        "end": encoded.end,
        "frames": encoded.frames,
        "bytes": len(encoded.content),
        "audio": encoded.audio,
        "changes": list(encoded.changes),
    }


def index_row(clip: Clip, location: str | None) -> dict[str, Any]:
    """Return the index row of a clip; each score is a column."""
    span, facts, cut = clip.data, clip.data.facts, _file_facts(clip) or {}
    return {
        "clip_id": clip.clip_id,
        "source_video": clip.path,
        "number": span.number,
        "start": float(span.start),
        "end": float(span.end),
        "width": facts.width,
        "height": facts.height,
        "fps": float(facts.fps),
        "clip_location": location,
        "codec": cut.get("codec"),
        "method": cut.get("method"),
        "true_start": cut.get("start"),
        "true_end": cut.get("end"),
        "frames": cut.get("frames"),
        "bytes": cut.get("bytes"),
        "audio": cut.get("audio"),
        "changes": "; ".join(cut["changes"]) if cut else None,
        **clip.scores,
        **_model_columns(clip),
    }


def _model_columns(clip: Clip) -> dict[str, Any]:
    """Return model outputs: vectors as number lists, captions per window and joined."""
    import numpy as np

    span = clip.data
    columns: dict[str, Any] = {
        name: np.asarray(one, np.float32) for name, one in span.vectors.items()
    }
    if span.windows:
        columns["windows"] = [window.as_dict() for window in span.windows]
        for name in span.windows[0].captions:
            columns[name] = "\n".join(window.captions.get(name, "") for window in span.windows)
    return columns


def index_table(rows: Sequence[dict[str, Any]]) -> "pa.Table":
    """Build the index. Columns with only nulls get the types they have in other files."""
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: pa.array([row.get(name) for row in rows]) for name in names}
    for name, column in columns.items():
        if pa.types.is_null(column.type):
            known = pa.int64() if name in _COUNTS else pa.float64()
            columns[name] = column.cast(pa.string() if name in _TEXTS else known)
    return pa.table(columns)
