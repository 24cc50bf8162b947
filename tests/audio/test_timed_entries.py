"""Spans, turns and words work the same as lists and as JSON text from readers."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from curator_audio import (
    AudioBatch,
    ConversationBuilder,
    ManifestReader,
    ManifestWriter,
    SegmentExtractor,
    SpeakerDiarizer,
    TimestampMapper,
)
from curator_audio.timed_entries import read_entries
from curator_core import AnyStage, LocalExecutor, Pipeline
from curator_core.testing import run_stage
from sounds import put, voice, wav


def read(folder: Path, stage: AnyStage, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a stage on a manifest and return the rows that it writes."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path = put(folder, "in.jsonl", text.encode())
    stages = [ManifestReader(path), stage, ManifestWriter(str(folder / "out"))]
    Pipeline(name="read", stages=stages).run(LocalExecutor(workers=0), on_error="quarantine")
    written = [path.read_text() for path in (folder / "out").glob("*.jsonl")]
    return [json.loads(line) for text in written for line in text.splitlines()]


ROW = {"audio_filepath": "/a.wav", "offset": 5.0, "duration": 200.0}


def test_spans_of_a_manifest_become_segments(tmp_path: Path) -> None:
    speech = [{"start": 0.5, "end": 2.0}, {"start": 3, "end": 4}]
    made = read(tmp_path, SegmentExtractor(), {**ROW, "speech": speech}, {**ROW, "speech": None})
    assert [(row["offset"], row["duration"]) for row in made] == [(5.5, 1.5), (8.0, 1.0)]


def test_turns_of_a_manifest_become_conversations(tmp_path: Path) -> None:
    turns = [{"start": n * 10, "end": n * 10 + 10, "speaker": n % 2} for n in range(12)]
    for name in ("turns", "segments"):
        stage = ConversationBuilder(turns_field=name)
        (made,) = read(tmp_path / name, stage, {**ROW, name: turns})
        assert (made["offset"], made["duration"], made["num_speakers"]) == (5.0, 120.0, 2)
        assert made["turns"][0] == {"start": 0.0, "end": 10.0, "speaker": "0"}


def test_words_of_a_manifest_are_mapped_and_keep_their_type(tmp_path: Path) -> None:
    words = [{"word": "so", "start": 0, "end": 1, "sure": 0.5}]
    parts = [{"start": 0.0, "end": 9.0, "offset": 100.0}]
    rows = [{**ROW, "words": words}, {**ROW, "words": words, "parts": parts}, ROW]
    made = read(tmp_path, TimestampMapper(), *rows)
    assert made[0]["words"] == [{"word": "so", "start": 5.0, "end": 6.0, "sure": 0.5}]
    assert made[1]["words"][0]["start"] == 100.0
    assert made[2]["words"] is None


def test_speech_of_a_manifest_is_diarized(tmp_path: Path) -> None:
    path = put(tmp_path, "a.wav", wav(voice(4)))
    row = {"audio_filepath": path, "speech": [{"start": 1.0, "end": 3.0}]}
    (made,) = read(tmp_path, SpeakerDiarizer(voices="cepstra"), row)
    assert [(turn["start"], turn["end"]) for turn in made["turns"]] == [(1.0, 3.0)]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("{", "speech is not valid JSON: "),
        ('{"start": 1}', "speech is not a list of entries with start and end"),
        ('[{"start": 1}]', "speech has an entry without end: {'start': 1}"),
        ('[{"start": "1", "end": 2}]', "speech has an entry without start: "),
        ("[3]", "speech has an entry without start or end: 3"),
        ('[{"start": 2, "end": 1}]', "speech has an entry that ends before it starts"),
    ],
)
def test_a_row_with_invalid_entries_is_rejected_alone(value: str, reason: str) -> None:
    rows = [{"audio_filepath": "a", "speech": value}, {"audio_filepath": "b", "speech": "[]"}]
    found = read_entries(AudioBatch.from_pylist(rows), "speech")
    assert (found.batch.num_items, found.values) == (1, [[]])
    assert [one.where for one in found.rejected] == ["a"]
    assert found.rejected[0].reason.startswith(reason)
    assert run_stage(TimestampMapper("speech"), found.batch)


@pytest.mark.parametrize("kind", ["speech", "turns"])
def test_entries_are_not_copied_into_each_segment(kind: str) -> None:
    entries = [
        {"start": n * 60.0, "end": n * 60.0 + 60, "speaker": str(n % 2)} for n in range(2_000)
    ]
    task = AudioBatch.from_pylist([{"audio_filepath": "a.wav", kind: entries}])
    stage = SegmentExtractor() if kind == "speech" else ConversationBuilder(max_overlap=0.5)
    before = pa.default_memory_pool().max_memory()
    (made,) = run_stage(stage, task)
    assert isinstance(made, AudioBatch)
    assert made.num_items >= 999
    assert pa.default_memory_pool().max_memory() < before + 20_000_000
