"""Voice vectors are similar for one speaker, with cepstra and with resemblyzer's network."""

from pathlib import Path

import numpy as np
import pytest
import torch
from curator_audio import AudioBatch, SpeakerEmbedder
from curator_core import StageError
from curator_core.testing import run_stage
from sounds import other_voice, put, voice, wav


def test_vectors_of_one_voice_are_similar(tmp_path: Path) -> None:
    sounds = [voice(3, seed=1), voice(12, seed=2), other_voice(3, 3)]
    rows = [{"audio_filepath": put(tmp_path, f"{n}.wav", wav(s))} for n, s in enumerate(sounds)]
    (found,) = run_stage(SpeakerEmbedder(voices="cepstra"), AudioBatch.from_pylist(rows))
    vectors = np.array([row["voice"] for row in found.to_pylist()])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert found.to_pylist()[0]["voice_model"] == "weak: cepstra"


def test_vectors_equal_those_of_resemblyzer(tmp_path: Path) -> None:
    memory, last = torch.nn.LSTM(40, 256, 3), torch.nn.Linear(256, 256)
    state = {f"lstm.{name}": value for name, value in memory.state_dict().items()}
    state |= {f"linear.{name}": value for name, value in last.state_dict().items()}
    torch.save({"model_state": state}, tmp_path / "pretrained.pt")
    rows = [{"audio_filepath": put(tmp_path, "a.wav", wav(voice(1)))}]
    stage = SpeakerEmbedder(weights=str(tmp_path / "pretrained.pt"))
    (found,) = run_stage(stage, AudioBatch.from_pylist(rows))
    (row,) = found.to_pylist()
    assert len(row["voice"]) == 256
    assert row["voice_model"].startswith("weak: resemblyzer sha256:")
    torch.save({"model_state": {}}, tmp_path / "other.pt")
    with pytest.raises(StageError, match="has no weights of resemblyzer"):
        run_stage(SpeakerEmbedder(weights=str(tmp_path / "other.pt")), AudioBatch.from_pylist(rows))
