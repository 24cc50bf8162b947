"""Parquet is read with the audio structs of `datasets`."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from curator_audio import (
    SPEECH,
    AudioParquetReader,
)
from reader_outputs import read
from sounds import tone, wav


def test_parquet_of_datasets_is_read(tmp_path: Path) -> None:
    rows = [
        {"clip": {"bytes": wav(tone(1)), "path": "a.wav"}, "sentence": "one"},
        {"clip": {"bytes": wav(tone(2)), "path": None}, "sentence": "two"},
        {"clip": {"bytes": None, "path": None}, "sentence": "three"},
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    reader = AudioParquetReader(
        str(tmp_path), fields=["sentence"], text_field=None, audio_field="clip"
    )
    (batch,), _ = read(reader)
    assert batch.columns() == ("audio_filepath", "sentence", "audio")
    decoded = batch.waveforms(SPEECH)
    assert [wave.seconds for wave in decoded.values] == [1.0, 2.0]
    assert [one.reason for one in decoded.rejected] == ["the file does not exist"]
    _, wrong = read(AudioParquetReader(str(tmp_path), audio_field="sentence"))
    assert "is string, not bytes; set another audio_field" in wrong[0]
