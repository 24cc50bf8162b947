"""Preview: what a pipeline does to a sample of records. Nothing is written."""

from curator_core.preview.differences import Piece, compare_words, shorten_equal
from curator_core.preview.lines import Line, facts_line, figures, measured_values
from curator_core.preview.records import (
    Change,
    DropExample,
    Record,
    RecordPreview,
    StagePreview,
    main_text,
    without_source,
)
from curator_core.preview.result import Preview
from curator_core.preview.sample import Sample, draw_sample
from curator_core.preview.stages import preview, reading_stages

__all__ = [
    "Change",
    "DropExample",
    "Line",
    "Piece",
    "Preview",
    "Record",
    "RecordPreview",
    "Sample",
    "StagePreview",
    "compare_words",
    "draw_sample",
    "facts_line",
    "figures",
    "main_text",
    "measured_values",
    "preview",
    "reading_stages",
    "shorten_equal",
    "without_source",
]
