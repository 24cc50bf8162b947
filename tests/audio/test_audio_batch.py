"""Rows are decoded on demand, segments are cut from their files, and samples never leave."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from curator_audio import (
    NATIVE,
    SPEECH,
    AudioBatch,
    AudioParquetReader,
    LongSplitter,
    SegmentExtractor,
    SegmentJoiner,
)
from curator_audio.decoded_cache import DecodedCache
from curator_audio.waveform import Waveform
from curator_core import Empty, LocalExecutor, ParquetWriter, Pipeline
from curator_core.testing import run_stage, run_stages
from sounds import encoded, put, tone, voice, wav


def test_segments_of_one_file_equal_cuts_of_its_samples(tmp_path: Path) -> None:
    ramp = np.linspace(-0.5, 0.5, 16_000 * 25, dtype=np.float32)[None]
    path = put(tmp_path, "a.wav", wav(ramp, floats=True))
    spans = [(12.0, 1.5), (0.0, 11.0), (9.5, 1.0), (24.0, 1.0)]
    batch = AudioBatch.from_pylist(
        [{"audio_filepath": path, "offset": start, "duration": long} for start, long in spans]
    )
    heard = batch.waveforms(SPEECH)
    assert not heard.rejected
    for (start, long), wave in zip(spans, heard.values, strict=True):
        first = round(start * 16_000)
        np.testing.assert_array_equal(wave.samples, ramp[:, first : first + round(long * 16_000)])
    blocks = [block.samples for block in batch.blocks(2, SPEECH)]
    np.testing.assert_array_equal(np.hstack(blocks), heard.values[2].samples)


def test_a_bad_row_is_rejected_alone(tmp_path: Path) -> None:
    good = put(tmp_path, "a.flac", encoded(tone(2), 16_000, "flac"))
    batch = AudioBatch.from_pylist(
        [
            {"audio_filepath": good, "offset": None, "duration": 99.0},
            {"audio_filepath": f"{tmp_path}/no.wav", "offset": None, "duration": 1.0},
            {"audio_filepath": None, "offset": None, "duration": None},
            {"audio_filepath": good, "offset": 1.0, "duration": 5.0},
            {"audio_filepath": good, "offset": 1.0, "duration": -1.0},
            {"audio_filepath": good, "offset": 8.0, "duration": None},
        ]
    )
    heard = batch.waveforms(SPEECH)
    assert [wave.seconds for wave in heard.values] == [2.0]
    assert heard.batch.num_items == 1
    assert [(one.where.replace(f"{tmp_path}/", ""), one.reason) for one in heard.rejected] == [
        ("no.wav", "the file does not exist"),
        ("row 2", "the row has neither audio_filepath nor audio"),
        (
            "a.flac 1-6 s",
            "the span from 1.00 to 6.00 s reaches beyond the end of the recording at 2.00 s",
        ),
        ("a.flac 1-0 s", "offset 1 and duration -1 are not a part of a recording"),
        ("a.flac 8-inf s", "the span from 8.00 to inf s has no samples"),
    ]
    assert [one.row for one in heard.rejected] == [1, 2, 3, 4, 5]
    assert [one.damaged for one in heard.rejected] == [False, True, True, True, True]


def test_encoded_bytes_in_a_row_are_decoded() -> None:
    batch = AudioBatch.from_pylist([{"audio": wav(tone(1))}])
    assert batch.waveforms(NATIVE).values[0].seconds == 1


def test_decoded_samples_are_kept_for_later_stages_and_freed(tmp_path: Path) -> None:
    path = put(tmp_path, "a.wav", wav(tone(2)))
    other = put(tmp_path, "b.wav", wav(tone(2)))
    batch = AudioBatch.from_pylist([{"audio_filepath": path}, {"audio_filepath": other}])
    first = batch.waveforms(SPEECH)
    Path(path).unlink()
    Path(other).unlink()
    named = first.batch.with_columns({"number": [1, 2]})
    again = named.waveforms(SPEECH)
    np.testing.assert_array_equal(again.values[1].samples, first.values[1].samples)
    kept = named.keep([True, False], "too far away")
    assert isinstance(kept[0], AudioBatch)
    assert len(kept[0].waveforms(SPEECH).values) == 1
    kept[0].release()
    assert kept[0].waveforms(SPEECH).rejected[0].reason == "the file does not exist"


def test_samples_never_leave_the_process(tmp_path: Path) -> None:
    path = put(tmp_path, "a.wav", wav(tone(60)))
    batch = AudioBatch.from_pylist([{"audio_filepath": path}])
    wave = batch.waveforms(SPEECH).values[0]
    assert len(pickle.dumps(batch)) < 5_000
    assert len(batch.to_payload()) < 5_000
    assert batch.columns() == ("audio_filepath",)
    with pytest.raises(TypeError, match="a waveform stays in the process that decoded it"):
        pickle.dumps(Waveform(wave.samples, 16_000))


def test_segments_of_an_encoded_recording_share_its_bytes(tmp_path: Path) -> None:
    data = encoded(voice(20), 16_000, "flac")
    spans = [{"start": float(n), "end": n + 1.0} for n in range(20)]
    rows = [{"audio_filepath": "a", "audio": data, "speech": spans, "duration": 20.0},
            {"audio_filepath": "b", "audio": None, "speech": [], "duration": 1.0}]  # fmt: skip
    whole = AudioBatch.from_pylist(rows)
    expected = whole.take([0]).waveforms(SPEECH).values[0].samples
    (cut,) = (one for one in SegmentExtractor().process(whole) if isinstance(one, AudioBatch))
    (split,) = run_stage(LongSplitter(1.0), whole)
    for batch in (cut, split.take(range(20))):
        assert batch.num_items == 20
        assert batch.data.nbytes < 1.5 * len(data)
        assert len(batch.to_payload()) < 1.5 * len(data)
        assert len({id(batch.source(row)) for row in range(20)}) == 1
        heard = np.hstack([wave.samples for wave in batch.waveforms(SPEECH).values])
        np.testing.assert_array_equal(heard, expected)
    (joined,) = run_stage(SegmentJoiner(max_gap=0.1), cut.repeat_rows([3, 2, 9, 9]))
    assert sorted(row["offset"] for row in joined.to_pylist()) == [2.0, 9.0]


def test_shared_bytes_are_written_and_read(tmp_path: Path) -> None:
    data = encoded(tone(2), 16_000, "flac")
    batch = AudioBatch.from_pylist([{"audio_filepath": "a", "audio": data}]).repeat_rows([0, 0, 0])
    writing = Pipeline("write", stages=[ParquetWriter(str(tmp_path / "out"))])
    writing.run(LocalExecutor(workers=0), tasks=[batch])
    read = run_stages([AudioParquetReader(str(tmp_path / "out"))], [Empty()]).outputs
    assert [row["audio"] for one in read for row in one.data.to_pylist()] == [data] * 3


def test_recordings_over_the_budget_are_not_cached(tmp_path: Path) -> None:
    path = put(tmp_path, "a.flac", encoded(voice(30), 16_000, "flac"))
    known = DecodedCache(budget=1_000_000)
    for _ in range(2):
        assert sum(block.seconds for block in known.read(path, SPEECH, None)) == 30
    assert known._too_long == {path}
    assert not known._blocks
    large = DecodedCache(budget=1_000)
    assert list(large.read(path, SPEECH, None))
    assert not large._too_long  # its file alone is larger


@pytest.mark.parametrize(
    ("durations", "ms"),
    [([1.5, None, 2.25], 3750), ([None, None], 0), (["1", "2"], 0), ([1.0, float("nan")], 0)],
)
def test_the_playing_time_is_the_sum_of_the_durations(durations: list[Any], ms: int) -> None:
    assert AudioBatch(pa.table({"duration": durations})).playing_ms == ms


def test_the_playing_time_is_zero_without_durations() -> None:
    assert AudioBatch(pa.table({"audio_filepath": ["a.wav"]})).playing_ms == 0


def test_previews_describe_recordings_by_their_headers(tmp_path: Path) -> None:
    good = put(tmp_path, "a.wav", wav(tone(1.5)))
    (tmp_path / "b.wav").write_bytes(b"no sound")
    rows = [{"audio_filepath": str(path), "text": "hi"} for path in (good, tmp_path / "b.wav")]
    first, second = AudioBatch.from_pylist(rows).describe_items()
    assert first["duration"] == pytest.approx(1.5, abs=0.01)
    assert {"sample_rate", "channels", "codec"} <= set(first)
    assert first["text"] == "hi"
    assert second["problem"]


def test_the_facts_of_a_segment_are_its_own(tmp_path: Path) -> None:
    path = put(tmp_path, "a.wav", wav(tone(1.5)))
    row = {"audio_filepath": str(path), "offset": 0.5, "duration": 0.25}
    [facts] = AudioBatch.from_pylist([row]).describe_items()
    assert facts["duration"] == 0.25
