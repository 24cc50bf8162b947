"""Sound events are listed by score, and rows are dropped by them."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from curator_audio import AudioBatch, SoundEventFilter
from curator_core import AnyStage
from curator_core.testing import check_stage, run_stage, run_stages
from curator_models.transformers_compat import import_transformers
from sounds import put, tone, wav

Problems = Callable[[AnyStage], list[str]]

LABELS = {0: "Speech", 1: "Music", 2: "Dog"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Save a spectrogram transformer of width 8 that always detects speech and never music."""
    library = import_transformers()
    folder = tmp_path_factory.mktemp("models") / "ast"
    config = library.ASTConfig(
        hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=8,
        max_length=128, num_mel_bins=32, id2label=LABELS,
        label2id={name: n for n, name in LABELS.items()},
    )  # fmt: skip
    network = library.ASTForAudioClassification(config)
    with torch.no_grad():
        network.classifier.dense.weight.zero_()
        network.classifier.dense.bias.copy_(torch.tensor([2.0, -2.0, 0.5]))
    network.save_pretrained(folder)
    library.ASTFeatureExtractor(num_mel_bins=32, max_length=128).save_pretrained(folder)
    return str(folder)


def batch(folder: Path, *seconds: float) -> AudioBatch:
    rows = [
        {"audio_filepath": put(folder, f"{n}.wav", wav(tone(long)))}
        for n, long in enumerate(seconds)
    ]
    return AudioBatch.from_pylist(rows)


def test_sound_events_are_sorted_by_score(tmp_path: Path, model: str) -> None:
    (found,) = run_stage(SoundEventFilter(model=model), batch(tmp_path, 0.3, 21.0))
    for row in found.to_pylist():
        assert [event["label"] for event in row["sound_events"]] == ["Speech", "Dog"]
        assert row["sound_events"][0]["score"] == pytest.approx(0.8808, abs=1e-3)
        assert row["sound_events_model"].startswith("ast sha256:")
    check_stage(SoundEventFilter(model=model), batch(tmp_path, 0.5))


def test_rows_are_dropped_by_their_sound_events(tmp_path: Path, model: str) -> None:
    recordings = batch(tmp_path, 1.0)
    for options, reason in (
        ({"unwanted": ["Music", "Dog"]}, "Dog is heard"),
        ({"wanted": ["Music"]}, "no Music is heard"),
    ):
        run = run_stages([SoundEventFilter(model=model, **options)], [recordings])
        assert run.counts.reasons == {reason: 1}
    assert run_stage(SoundEventFilter(model=model, wanted=["Speech"]), recordings)


def test_invalid_options_are_reported(model: str, problems: Problems) -> None:
    stage = SoundEventFilter(model=model, wanted=["Speach"], at_least=2)
    assert problems(stage) == [
        "at_least is 2",
        "the model has no label 'Speach' (did you mean Speech?)",
    ]
    (problem,) = SoundEventFilter(model=model + "x").check()
    assert problem.startswith(f"model {model + 'x'!r} is not a folder (did you mean {model}?)")
