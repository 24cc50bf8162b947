"""Rows with transcripts become documents for text stages."""

import pytest
from curator_audio import AudioBatch, AudioToDocument
from curator_core import DocumentBatch
from curator_core.testing import check_stage, run_stage


def batch(**columns: object) -> AudioBatch:
    return AudioBatch.from_pylist([{"audio_filepath": "a.wav", "audio": b"RIFF", **columns}])


def test_encoded_recordings_are_dropped_and_other_columns_kept() -> None:
    [documents] = run_stage(AudioToDocument(), batch(text="hello", duration=1.5))
    assert type(documents) is DocumentBatch
    assert documents.to_pylist() == [{"audio_filepath": "a.wav", "text": "hello", "duration": 1.5}]


@pytest.mark.parametrize("columns", [{}, {"text": "the reference"}])
def test_another_column_can_become_the_text(columns: dict[str, str]) -> None:
    rows = batch(pred_text="what a model wrote", **columns)
    [documents] = run_stage(AudioToDocument("pred_text"), rows)
    assert documents.to_pylist() == [{"audio_filepath": "a.wav", "text": "what a model wrote"}]


def test_stage_contract() -> None:
    check_stage(AudioToDocument("pred_text"), batch(text="hello", pred_text="hallo"))
