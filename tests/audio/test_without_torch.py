"""Recordings are read, measured and written without torch; stages that need it name the extra."""

import json
import sys
from pathlib import Path

import pytest
from curator_audio import (
    SPEECH,
    AudioBatch,
    AudioMeasurer,
    DnsmosFilter,
    LoudnessNormalizer,
    SegmentWriter,
    SoundEventFilter,
    SpeakerDiarizer,
    SpeakerEmbedder,
    SpeechFinder,
    SquimFilter,
    UtmosFilter,
)
from curator_audio.decoding import decode
from curator_core import AnyStage, LocalExecutor, Pipeline
from sounds import put, voice, wav


@pytest.fixture(autouse=True)
def _no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torchaudio"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize("kind", ["flac", "wav", "opus"])
def test_recordings_are_measured_and_written(tmp_path: Path, kind: str) -> None:
    path = put(tmp_path / "in", "a.wav", wav(voice(3, 44_100), 44_100))
    stages: list[AnyStage] = [
        AudioMeasurer(),
        LoudnessNormalizer(),
        SpeakerEmbedder(voices="cepstra"),
        SegmentWriter(f"{tmp_path}/out", kind),  # type: ignore[arg-type]
    ]

    task = AudioBatch.from_pylist([{"audio_filepath": path}])
    Pipeline(name="bare", stages=stages).run(LocalExecutor(workers=0), tasks=[task])

    (line,) = next((tmp_path / "out").glob("*.jsonl")).read_text().splitlines()
    row = json.loads(line)
    assert row["duration"] == 3.0
    assert row["loudness_lufs"] < 0
    assert decode(f"{tmp_path}/out/{row['audio_filepath']}", SPEECH).seconds == pytest.approx(
        3, abs=0.1
    )


@pytest.mark.parametrize(
    "stage",
    [
        SpeechFinder(),
        DnsmosFilter(),
        UtmosFilter(weights="balacoon/utmos/utmos.jit"),
        SquimFilter(),
        SpeakerEmbedder(voices="resemblyzer"),
        SpeakerDiarizer(voices="resemblyzer"),
        SoundEventFilter(model="owner/model"),
    ],
    ids=lambda stage: stage.name,
)
def test_a_stage_that_needs_torch_names_the_extra(stage: AnyStage) -> None:
    assert any("pip install 'curator-audio[torch]'" in problem for problem in stage.check())
