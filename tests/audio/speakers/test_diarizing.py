"""Turns and vectors follow voices; what is weak says so, what is missing names its command."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from curator_audio import AudioBatch, SpeakerDiarizer, SpeakerEmbedder
from curator_audio.recordings import Recordings
from curator_audio.speakers.clustering import clusters
from curator_audio.speakers.turns import Turn, joined, overlap
from curator_core import Rejected, StageError, WorkerInfo
from curator_core.testing import check_stage, run_stage
from sounds import Samples, put, voice, wav


def other_voice(seconds: float, seed: int) -> Samples:
    """The same vowels by a smaller head: all is a third higher."""
    samples = voice(seconds * 1.34, seed=seed)[0]
    places = np.arange(round(seconds * 16_000)) * 1.34
    moved: Samples = np.interp(places, np.arange(len(samples)), samples).astype(np.float32)[None]
    return moved


def talk(folder: Path) -> dict[str, Any]:
    """One speaks for six seconds, another for five, and the first again for four."""
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
    told = [(turn["start"], turn["end"], turn["speaker"]) for turn in row["turns"]]
    assert told == [(0.0, 6.0, "speaker_0"), (6.0, 11.0, "speaker_1"), (11.0, 15.0, "speaker_0")]
    assert (row["num_speakers"], row["speaker_overlap"]) == (2, 0.0)
    assert row["diarization"] == "weak: cepstra"
    assert (none["turns"], none["num_speakers"]) == ([], 0)


def test_segments_have_turns_of_their_own(tmp_path: Path) -> None:
    """Spans count from where a row begins, and rows of a file are heard in one go."""
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
    told = [[(turn["start"], turn["end"]) for turn in row["turns"]] for row in found.to_pylist()]
    assert told == [[(0.0, 5.0), (5.0, 9.0)], [(0.0, 6.0)]]
    assert isinstance(rejected, Rejected)
    assert "reaches beyond the end of the recording at 15.00 s" in rejected.reason


def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    sound = np.random.default_rng(0).uniform(-0.5, 0.5, (1, 300 * 16_000)).astype(np.float32)
    spans = [{"start": start, "end": start + 1.0} for start in np.arange(0.0, 298.0, 2.0).tolist()]
    row = {"audio_filepath": put(tmp_path, "long.wav", wav(sound)), "speech": spans}
    batch = AudioBatch.from_pylist([row])
    batch.derived["curator_audio.recordings"] = Recordings(budget=0)  # as if it were hours
    stage = SpeakerDiarizer(voices="cepstra")
    stage.setup(WorkerInfo())
    tracemalloc.start()
    list(stage.process(batch))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < sound.nbytes / 2


def test_vectors_of_a_voice_are_near_each_other(tmp_path: Path) -> None:
    sounds = [voice(3, seed=1), voice(12, seed=2), other_voice(3, 3)]
    rows = [{"audio_filepath": put(tmp_path, f"{n}.wav", wav(s))} for n, s in enumerate(sounds)]
    (found,) = run_stage(SpeakerEmbedder(voices="cepstra"), AudioBatch.from_pylist(rows))
    vectors = np.array([row["voice"] for row in found.to_pylist()])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
    assert found.to_pylist()[0]["voice_model"] == "weak: cepstra"


def test_weights_of_resemblyzer_are_its_network(tmp_path: Path) -> None:
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
    with pytest.raises(StageError, match="holds no voices of resemblyzer"):
        run_stage(SpeakerEmbedder(weights=str(tmp_path / "other.pt")), AudioBatch.from_pylist(rows))


def test_clusters_are_numbered_as_they_come() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.99, 0.1], [0.1, 0.99], [-1, 0]], np.float32)
    assert clusters(vectors, np.ones(5), 0.9, 8) == [0, 1, 0, 1, 2]
    assert len(set(clusters(vectors, np.ones(5), 0.9, 2))) == 2
    assert clusters(vectors[:1], np.ones(1), 0.9, 8) == [0]


def voices_of(people: int, pieces: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    heard = random.standard_normal((people, 64))[random.integers(people, size=pieces)]
    heard += random.uniform(0.3, 1.5) * random.standard_normal(heard.shape)
    return (heard / np.linalg.norm(heard, axis=1, keepdims=True)).astype(np.float32)


def plain_clusters(vectors: np.ndarray, threshold: float, most: int) -> list[int]:
    """All pairs are looked at again after each step."""
    sums, members = vectors.astype(np.float64), [[place] for place in range(len(vectors))]
    while len(members) > 1:
        units = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        alike = units @ units.T
        np.fill_diagonal(alike, -2)
        one, other = sorted(divmod(int(alike.argmax()), len(members)))
        if alike[one, other] < threshold and len(members) <= most:
            break
        sums[one] += sums[other]
        sums = np.delete(sums, other, axis=0)
        members[one] += members.pop(other)
    ordered = sorted(members, key=min)
    return [
        next(n for n, group in enumerate(ordered) if place in group)
        for place in range(len(vectors))
    ]


@pytest.mark.parametrize(("threshold", "most"), [(0.65, 8), (0.3, 50), (0.95, 3)])
def test_clusters_are_those_of_all_pairs(threshold: float, most: int) -> None:
    for seed in range(6):
        vectors = voices_of(1 + seed, 20 * seed + 1, seed)
        found = clusters(vectors, np.ones(len(vectors)), threshold, most)
        assert found == plain_clusters(vectors, threshold, most)


@pytest.mark.timeout(60)
def test_hours_of_talk_are_clustered_in_seconds() -> None:
    """Two hours of it: with all pairs looked at in each step that took minutes."""
    vectors = voices_of(5, 4_000)
    assert len(set(clusters(vectors, np.ones(4_000), 0.65, 8))) <= 8


def test_turns_are_joined_and_overlap_is_a_share() -> None:
    turns = [Turn(2, 3, "a"), Turn(0, 1.8, "a"), Turn(3.2, 4, "b"), Turn(4.1, 5, "a")]
    assert joined(turns, 0.5) == [Turn(0, 3, "a"), Turn(3.2, 4, "b"), Turn(4.1, 5, "a")]
    assert overlap([Turn(0, 4, "a"), Turn(3, 5, "b")]) == pytest.approx(0.2)
    assert overlap([]) == 0.0


def test_they_keep_what_stages_promise(tmp_path: Path) -> None:
    check_stage(SpeakerDiarizer(voices="cepstra"), AudioBatch.from_pylist([talk(tmp_path)]))
    check_stage(SpeakerEmbedder(voices="cepstra"), AudioBatch.from_pylist([talk(tmp_path)]))


def test_mistakes_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    assert list(SpeakerDiarizer("pyannote").check()) == [
        "telling speakers with pyannote needs pyannote.audio, which is not installed: "
        "pip install pyannote.audio",
        "model is not given; pyannote needs a path, or a name at Hugging Face",
    ]
    assert list(SpeakerDiarizer("sortformer", "nvidia/x").check()) == [
        "telling speakers with sortformer needs nemo, which is not installed: "
        "pip install 'nemo_toolkit[asr]'"
    ]
    wrong = SpeakerDiarizer("strong", token_variable="NO_SUCH", max_speakers=0)  # type: ignore[arg-type]
    assert list(wrong.check()) == [
        "backend is 'strong' (known: pyannote, sortformer, weak)",
        "max_speakers is 0, but must be 1 or more",
        "token_variable is 'NO_SUCH', but no such environment variable is set",
    ]
