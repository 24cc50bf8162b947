"""Recordings that were written are read again, in every format."""

from pathlib import Path

import numpy as np
import pytest
from curator_audio import (
    SPEECH,
    AudioBatch,
    AudioEncoder,
    AudioParquetReader,
    ManifestReader,
    SegmentWriter,
    ShardReader,
    ShardWriter,
)
from curator_core import AnyStage, LocalExecutor, ParquetWriter, Pipeline
from reader_outputs import read
from sounds import put, voice, wav

SEGMENTS = [
    {"offset": 1.0, "duration": 2.5, "text": "one", "speaker": 3},
    {"offset": 9.0, "duration": 1.0, "text": None, "speaker": 4},
]


@pytest.mark.parametrize("kind", ["flac", "wav", "opus"])
@pytest.mark.parametrize("way", ["files", "shards", "parquet"])
def test_written_recordings_can_be_read_again(tmp_path: Path, way: str, kind: str) -> None:
    path = put(tmp_path, "a b.wav", wav(voice(12), floats=True))
    task = AudioBatch.from_pylist([{"audio_filepath": path, **row} for row in SEGMENTS])
    original = task.waveforms(SPEECH).values
    out = str(tmp_path / "out")
    ways: dict[str, tuple[list[AnyStage], AnyStage]] = {
        "files": ([SegmentWriter(out, kind)], ManifestReader(out)),  # type: ignore[arg-type]
        "shards": ([ShardWriter(out, kind)], ShardReader(out)),  # type: ignore[arg-type]
        "parquet": ([AudioEncoder(kind), ParquetWriter(out)], AudioParquetReader(out)),  # type: ignore[arg-type]
    }
    writing, reading = ways[way]
    Pipeline(name="cut", stages=writing).run(LocalExecutor(workers=0), tasks=[task])
    (back,), wrong = read(reading)
    assert not wrong
    rows = back.to_pylist()
    assert [(row["text"], row["speaker"], row["source_offset"]) for row in rows] == [
        ("one", 3, 1.0),
        (None, 4, 9.0),
    ]
    for wave, row, before in zip(back.waveforms(SPEECH).values, rows, original, strict=True):
        assert row["duration"] == before.seconds
        if kind == "opus":
            assert abs(wave.seconds - before.seconds) < 0.05
            assert 0.8 < np.abs(wave.samples).mean() / np.abs(before.samples).mean() < 1.2
        else:
            np.testing.assert_allclose(wave.samples, before.samples, atol=5e-5)
