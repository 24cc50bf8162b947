"""Segments keep their place in the source, however they are extracted, split or joined."""

from pathlib import Path

import numpy as np
from curator_audio import (
    SPEECH,
    AudioBatch,
    AudioEncoder,
    LongSplitter,
    SegmentConcatenator,
    SegmentExtractor,
    SegmentJoiner,
    TimestampMapper,
)
from curator_core import Dropped
from curator_core.testing import check_stage, run_stage, run_stages
from sounds import put, voice, wav


def test_segments_have_an_offset_in_the_source(tmp_path: Path) -> None:
    task = AudioBatch.from_pylist(
        [
            {
                "audio_filepath": "a.wav",
                "offset": 100.0,
                "duration": 9.0,
                "text": "all of it",
                "speech": [{"start": 0.5, "end": 2.0}, {"start": 2.25, "end": 3.0}],
            },
            {"audio_filepath": "b.wav", "offset": None, "duration": 3.0, "text": "", "speech": []},
        ]
    )
    run = run_stages([SegmentExtractor()], [task])
    assert run.counts.reasons == {"no spans": 1}
    [drop] = [one for one in SegmentExtractor().process(task) if isinstance(one, Dropped)]
    assert isinstance(drop.records, AudioBatch)
    assert drop.records.to_pylist()[0]["audio_filepath"] == "b.wav"
    rows = run.outputs[0].to_pylist()
    assert [(r["offset"], r["duration"], r["segment"], r["source_text"]) for r in rows] == [
        (100.5, 1.5, 0, "all of it"),
        (102.25, 0.75, 1, "all of it"),
    ]
    (joined,) = run_stage(SegmentJoiner(max_gap=0.3), run.outputs[0])
    (row,) = joined.to_pylist()
    assert (row["offset"], row["duration"], row["joined"]) == (100.5, 2.5, 2)
    (separate,) = run_stage(SegmentJoiner(max_gap=0.2), run.outputs[0])
    assert separate.num_items == 2


def test_long_rows_are_split_and_times_mapped() -> None:
    words = [{"word": "so", "start": 0.5, "end": 0.75}]
    task = AudioBatch.from_pylist(
        [
            {"audio_filepath": "a.wav", "duration": 25.0, "words": words},
            {"audio_filepath": "b.wav", "duration": 5.0, "words": None},
        ]
    )
    (split,) = run_stage(LongSplitter(10.0), task)
    rows = split.to_pylist()
    assert [row["offset"] for row in rows][1:] == [25 / 3, 50 / 3, None]
    assert rows[3]["duration"] == 5.0
    (mapped,) = run_stage(TimestampMapper(), split)
    assert [row["words"] and row["words"][0]["start"] for row in mapped.to_pylist()] == [
        0.5,
        round(25 / 3 + 0.5, 6),
        round(50 / 3 + 0.5, 6),
        None,
    ]


def test_times_of_concatenated_segments_are_mapped_to_the_source(tmp_path: Path) -> None:
    path = put(tmp_path, "a.wav", wav(voice(20), floats=True))
    other = put(tmp_path, "b.wav", wav(voice(3), floats=True))
    spans = [(path, 12.0, 2.0), (path, 1.0, 3.0), (other, 0.5, 1.0), (path, 16.0, 2.0)]
    task = AudioBatch.from_pylist(
        [{"audio_filepath": p, "offset": start, "duration": long} for p, start, long in spans]
    )
    run = run_stages([SegmentConcatenator(gap=0.5, max_duration=6.0)], [task])
    made = run.outputs[0]
    rows = made.to_pylist()
    assert [row["duration"] for row in rows] == [5.5, 2.0, 1.0]
    assert run.counts.reasons == {"joined with another segment": 1}
    assert rows[0]["parts"] == [
        {"start": 0.0, "end": 3.0, "offset": 1.0},
        {"start": 3.5, "end": 5.5, "offset": 12.0},
    ]
    samples = made.waveforms(SPEECH).values[0].samples[0]
    whole = voice(20)[0]
    np.testing.assert_allclose(samples[:48_000], whole[16_000:64_000], atol=5e-5)
    np.testing.assert_allclose(samples[56_000:], whole[192_000:224_000], atol=5e-5)
    assert not samples[48_000:56_000].any()
    words = [{"word": "a", "start": 0.5, "end": 1.0}, {"word": "b", "start": 4.0, "end": 4.5}]
    named = made.take([0]).with_columns({"words": [words]})
    (mapped,) = run_stage(TimestampMapper(), named)
    times = [(word["start"], word["end"]) for word in mapped.to_pylist()[0]["words"]]
    assert times == [(1.5, 2.0), (12.5, 13.0)]
    (encoded,) = run_stage(AudioEncoder(), made)
    assert [row["source_filepath"] for row in encoded.to_pylist()] == [path, path, other]
    check_stage(SegmentConcatenator(), task)


def test_stages_pass_the_contract() -> None:
    speech = [[(0.5, 2.0), (2.25, 3.0)], [(0.1, 0.9)]]
    task = AudioBatch.from_pylist(
        [
            {
                "audio_filepath": name,
                "duration": 9.0,
                "speech": [{"start": start, "end": end} for start, end in spans],
            }
            for name, spans in zip(("a.wav", "b.wav"), speech, strict=True)
        ]
    )
    check_stage(SegmentExtractor(), task)
    (cut,) = run_stage(SegmentExtractor(), task)
    check_stage(SegmentJoiner(), cut)
    check_stage(LongSplitter(1.0), cut)
