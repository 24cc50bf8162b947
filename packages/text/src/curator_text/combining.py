"""Limit long runs of combining marks in a text column."""

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.model.unicode import MOST_MARKS, stream_safe


def stream_safe_column(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """Apply `stream_safe` to each text that needs it. Returns the same column if none does."""
    suspect = pc.match_substring_regex(texts, rf"\p{{M}}{{{MOST_MARKS}}}")
    if not pc.any(suspect).as_py():
        return texts
    rows = zip(texts.to_pylist(), suspect.to_pylist(), strict=True)
    safe = [stream_safe(text) if is_suspect else text for text, is_suspect in rows]
    return pa.chunked_array([pa.array(safe, texts.type)])
