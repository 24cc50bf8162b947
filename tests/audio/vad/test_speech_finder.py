"""Spans of speech equal those of Silero's own code, also for many recordings at once."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_audio import (
    AudioBatch,
    SpeechFinder,
)
from curator_audio.torchaudio_compat import torchaudio  # noqa: F401 - before silero_vad asks for it
from curator_audio.vad.silero import DetectorError, find_weights, load_weights
from curator_audio.vad.spans import SpanRules, find_speech_spans
from curator_core import AnyStage, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from hypothesis import given, settings
from hypothesis import strategies as st
from sounds import Samples, put, tone, voice, wav

silero = pytest.importorskip("silero_vad")
import torch  # noqa: E402

Problems = Callable[[AnyStage], list[str]]


def conversation(seconds: float, seed: int) -> Samples:
    """Return voices and pauses in some noise."""
    random = np.random.default_rng(seed)
    pieces = []
    while sum(piece.shape[1] for piece in pieces) < seconds * 16_000:
        pieces.append(voice(float(random.uniform(0.4, 3)), seed=int(random.integers(99))))
        pieces.append(np.zeros((1, int(random.uniform(0.05, 1.5) * 16_000)), np.float32))
    samples = np.hstack(pieces)[:, : round(seconds * 16_000)]
    noise = random.standard_normal(samples.shape).astype(np.float32) * 0.002
    mixed: Samples = samples + noise
    return mixed


LENGTHS = {"a": 23.7, "b": 4.0, "c": 11.3, "d": 0.2, "e": 30.01}


@pytest.fixture(scope="module")
def spoken() -> dict[str, Samples]:
    return {name: conversation(long, n) for n, (name, long) in enumerate(LENGTHS.items())}


@pytest.fixture(scope="module")
def model() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return silero.load_silero_vad()


def batch(folder: Path, spoken: dict[str, Samples]) -> AudioBatch:
    return AudioBatch.from_pylist(
        [
            {"audio_filepath": put(folder, f"{name}.wav", wav(one, floats=True)), "text": "all"}
            for name, one in spoken.items()
        ]
    )


def reference(model: Any, samples: Samples, **options: Any) -> list[tuple[float, float]]:
    found = silero.get_speech_timestamps(torch.from_numpy(samples[0]), model, **options)
    return [(span["start"] / 16_000, span["end"] / 16_000) for span in found]


def test_spans_equal_those_of_silero(
    tmp_path: Path, spoken: dict[str, Samples], model: Any
) -> None:
    stage = SpeechFinder(max_speech=4.0, min_silence=0.2, keep_silent=True)
    (found,) = run_stage(stage, batch(tmp_path, spoken))
    spans = [[(s["start"], s["end"]) for s in row["speech"]] for row in found.to_pylist()]
    expected = [
        reference(model, one, max_speech_duration_s=4.0, min_silence_duration_ms=200)
        for one in spoken.values()
    ]
    assert spans == expected
    assert sum(map(len, spans)) > 10
    assert found.to_pylist()[0]["speech_detector"].startswith("silero-vad ")


def test_probabilities_equal_those_of_silero(
    tmp_path: Path, spoken: dict[str, Samples], model: Any
) -> None:
    from curator_audio.vad.silero import SpeechDetector
    from curator_audio.vad.speech_finder import detect_speech
    from curator_audio.waveform import SPEECH

    task = batch(tmp_path, spoken)
    rows = [(row, task.blocks(row, SPEECH)) for row in range(task.num_items)]
    found, failed = detect_speech(SpeechDetector(load_weights(None)), rows)
    assert not failed
    for row, samples in enumerate(spoken.values()):
        model.reset_states()
        padded = np.pad(samples[0], (0, -samples.shape[1] % 512))
        whole = torch.from_numpy(padded).reshape(-1, 512)
        expected = [model(frame, 16_000).item() for frame in whole]
        np.testing.assert_allclose(found[row].values, expected, atol=1e-5)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from([0.0, 0.3, 0.4, 0.5, 0.9])), max_size=30
    ),
    st.integers(0, 511),
    st.sampled_from([1.0, 2.5, float("inf")]),
    st.sampled_from([0.0, 0.1, 0.5]),
)
def test_span_rules_equal_those_of_silero(
    runs: list[tuple[int, float]], short: int, longest: float, silence: float
) -> None:
    from silero_vad.utils_vad import get_speech_timestamps_from_probs

    values = [value for count, value in runs for _ in range(count)]
    samples = max(0, len(values) * 512 - short)
    expected = get_speech_timestamps_from_probs(
        values,
        max_speech_duration_s=longest,
        min_silence_duration_ms=int(silence * 1000),
        audio_length_samples=samples,
    )
    rules = SpanRules(max_speech=longest, min_silence=silence)
    assert find_speech_spans(values, samples, rules) == [(s["start"], s["end"]) for s in expected]


def test_rows_without_speech_are_dropped_and_bad_rows_rejected_alone(tmp_path: Path) -> None:
    rows = [
        {"audio_filepath": put(tmp_path, "quiet.wav", wav(tone(2) * 0))},
        {"audio_filepath": put(tmp_path, "cut.wav", wav(tone(30))[:90_000])},
        {"audio_filepath": put(tmp_path, "one.wav", wav(tone(1)[:, :1]))},
        {"audio_filepath": put(tmp_path, "speech.wav", wav(voice(3)))},
    ]
    run = run_stages([SpeechFinder()], [AudioBatch.from_pylist(rows)], on_error="quarantine")
    assert run.counts.reasons == {"no speech": 2}
    assert run.counts.items_rejected == 1
    assert run.outputs[0].num_items == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_invalid_options_are_reported(tmp_path: Path, problems: Problems) -> None:
    assert problems(SpeechFinder(threshold=2)) == ["threshold is 2"]
    with pytest.raises(DetectorError, match=r"no speech detector at /no/where: give the path"):
        find_weights("/no/where")
    (tmp_path / "other.jit").write_text(json.dumps({}))
    stage = SpeechFinder(weights=str(tmp_path / "other.jit"))
    with pytest.raises((DetectorError, StageError), match="is not a speech detector"):
        run_stage(stage, AudioBatch.from_pylist([{"audio_filepath": "a.wav"}]))
    buffer = torch.ones(258, 1, 256)
    network = torch.nn.Module()
    network._model = torch.nn.Module()
    network._model.stft = torch.nn.Module()
    network._model.stft.register_buffer("forward_basis_buffer", buffer)
    torch.jit.script(network).save(str(tmp_path / "ones.jit"))
    with pytest.raises(DetectorError, match="its first layer is not the one of Silero's network"):
        load_weights(str(tmp_path / "ones.jit"))


def test_stages_pass_the_contract(tmp_path: Path) -> None:
    task = batch(tmp_path, {"a": conversation(5, 1), "b": conversation(3, 2)})
    check_stage(SpeechFinder(), task)
