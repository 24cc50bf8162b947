"""Turns and voice vectors follow the speakers; missing libraries are reported with a command."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_audio import AudioBatch, SpeakerDiarizer, SpeakerEmbedder
from curator_audio.decoded_cache import DecodedCache
from curator_audio.speakers.turns import SpeakerTurn, merge_turns, overlap_share
from curator_core import AnyStage, Rejected, WorkerInfo
from curator_core.testing import check_stage, run_stage
from sounds import other_voice, put, voice, wav

Problems = Callable[[AnyStage], list[str]]


def talk(folder: Path) -> dict[str, Any]:
    """Write a recording: one speaks for six seconds, another for five, the first again for four."""
    sound = np.hstack([voice(6, seed=1), other_voice(5, 2), voice(4, seed=3)])
    noise = np.random.default_rng(0).standard_normal(sound.shape) * 1e-3
    spans = [(0.0, 6.0), (6.0, 11.0), (11.0, 15.0)]
    return {
        "audio_filepath": put(folder, "talk.wav", wav((sound + noise).astype(np.float32))),
        "speech": [{"start": start, "end": end} for start, end in spans],
    }


def test_two_voices_are_two_speakers(tmp_path: Path) -> None:
    silent = {"audio_filepath": talk(tmp_path)["audio_filepath"], "speech": []}
    stage = SpeakerDiarizer(voices="cepstra", max_speakers=2)
    (found,) = run_stage(stage, AudioBatch.from_pylist([talk(tmp_path), silent]))
    row, none = found.to_pylist()
    turns = [(turn["start"], turn["end"], turn["speaker"]) for turn in row["turns"]]
    assert turns == [(0.0, 6.0, "speaker_0"), (6.0, 11.0, "speaker_1"), (11.0, 15.0, "speaker_0")]
    assert (row["num_speakers"], row["speaker_overlap"]) == (2, 0.0)
    assert row["diarization"] == "weak: cepstra"
    assert (none["turns"], none["num_speakers"]) == ([], 0)


def test_turns_of_a_segment_are_relative_to_its_start(tmp_path: Path) -> None:
    """Spans count from the start of a row; rows of a file are decoded in one pass."""
    path = talk(tmp_path)["audio_filepath"]
    rows = [
        {"audio_filepath": path, "offset": 6.0, "duration": 9.0, "speech": [(0, 5), (5, 9)]},
        {"audio_filepath": path, "offset": 0.0, "duration": 6.0, "speech": [(1, 1), (0, 6)]},
        {"audio_filepath": path, "offset": 0.0, "duration": 15.0, "speech": [(14, 40)]},
    ]
    for row in rows:
        row["speech"] = [{"start": float(a), "end": float(b)} for a, b in row["speech"]]
    stage = SpeakerDiarizer(voices="cepstra", max_speakers=2)
    stage.setup(WorkerInfo())
    found, rejected = stage.process(AudioBatch.from_pylist(rows))
    assert isinstance(found, AudioBatch)
    turns = [[(turn["start"], turn["end"]) for turn in row["turns"]] for row in found.to_pylist()]
    assert turns == [[(0.0, 5.0), (5.0, 9.0)], [(0.0, 6.0)]]
    assert isinstance(rejected, Rejected)
    assert "reaches beyond the end of the recording at 15.00 s" in rejected.reason


def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    sound = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 300 * 16_000)).astype(np.float32)
    spans = [{"start": start, "end": start + 1.0} for start in np.arange(0.0, 298.0, 2.0).tolist()]
    row = {"audio_filepath": put(tmp_path, "long.wav", wav(sound)), "speech": spans}
    batch = AudioBatch.from_pylist([row])
    batch.derived["curator_audio.decoded_cache"] = DecodedCache(budget=0)  # as if it were hours
    stage = SpeakerDiarizer(voices="cepstra")
    stage.setup(WorkerInfo())
    tracemalloc.start()
    list(stage.process(batch))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < sound.nbytes / 2


def test_turns_are_merged_and_overlap_is_a_share_of_speaking_time() -> None:
    turns = [
        SpeakerTurn(2, 3, "a"),
        SpeakerTurn(0, 1.8, "a"),
        SpeakerTurn(3.2, 4, "b"),
        SpeakerTurn(4.1, 5, "a"),
    ]
    assert merge_turns(turns, 0.5) == [
        SpeakerTurn(0, 3, "a"),
        SpeakerTurn(3.2, 4, "b"),
        SpeakerTurn(4.1, 5, "a"),
    ]
    assert overlap_share([SpeakerTurn(0, 4, "a"), SpeakerTurn(3, 5, "b")]) == pytest.approx(0.2)
    assert overlap_share([]) == 0.0


def test_stages_pass_the_contract(tmp_path: Path) -> None:
    check_stage(SpeakerDiarizer(voices="cepstra"), AudioBatch.from_pylist([talk(tmp_path)]))
    check_stage(SpeakerEmbedder(voices="cepstra"), AudioBatch.from_pylist([talk(tmp_path)]))


def test_invalid_options_are_reported(monkeypatch: pytest.MonkeyPatch, problems: Problems) -> None:
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    assert list(SpeakerDiarizer("pyannote").check()) == [
        "diarization with pyannote needs pyannote.audio, which is not installed: "
        "pip install pyannote.audio",
        "model is not given; pyannote needs a path, or a name on Hugging Face",
    ]
    assert list(SpeakerDiarizer("sortformer", "nvidia/x").check()) == [
        "diarization with sortformer needs nemo, which is not installed: "
        "pip install 'nemo_toolkit[asr]'"
    ]
    wrong = SpeakerDiarizer("strong", token_variable="NO_SUCH", max_speakers=0)  # type: ignore[arg-type]
    assert problems(wrong) == [
        "backend is 'strong' (known: pyannote, sortformer, weak)",
        "max_speakers is 0",
        "token_variable is 'NO_SUCH'",
    ]
