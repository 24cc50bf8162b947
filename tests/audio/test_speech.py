"""The detector says what Silero's own code says, whatever goes through it together."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_audio import (
    SPEECH,
    AudioBatch,
    AudioEncoder,
    LongSplitter,
    SegmentConcatenator,
    SegmentExtractor,
    SegmentJoiner,
    SpeechFinder,
    TimestampMapper,
)
from curator_audio._torchaudio import torchaudio  # noqa: F401 - before silero_vad asks for it
from curator_audio.speech.segmenting import Rules, spans_of_speech
from curator_audio.speech.weights import DetectorError, load, locate
from curator_core import Dropped, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from hypothesis import given, settings
from hypothesis import strategies as st
from sounds import Samples, put, tone, voice, wav

silero = pytest.importorskip("silero_vad")
import torch  # noqa: E402


def conversation(seconds: float, seed: int) -> Samples:
    """Voices and pauses, in some noise."""
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


def test_segments_are_those_of_the_reference(
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


def test_probabilities_are_those_of_the_reference(
    tmp_path: Path, spoken: dict[str, Samples], model: Any
) -> None:
    from curator_audio.forms import SPEECH
    from curator_audio.speech.detectors import SpeechDetector
    from curator_audio.speech.listening import probabilities

    task = batch(tmp_path, spoken)
    rows = [(row, task.blocks(row, SPEECH)) for row in range(task.num_items)]
    found, failed = probabilities(SpeechDetector(load(None)), rows)
    assert not failed
    for row, samples in enumerate(spoken.values()):
        model.reset_states()
        padded = np.pad(samples[0], (0, -samples.shape[1] % 512))
        whole = torch.from_numpy(padded).reshape(-1, 512)
        told = [model(frame, 16_000).item() for frame in whole]
        np.testing.assert_allclose(found[row].values, told, atol=1e-5)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 40), st.sampled_from([0.0, 0.3, 0.4, 0.5, 0.9])), max_size=30
    ),
    st.integers(0, 511),
    st.sampled_from([1.0, 2.5, float("inf")]),
    st.sampled_from([0.0, 0.1, 0.5]),
)
def test_rules_are_those_of_the_reference(
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
    rules = Rules(max_speech=longest, min_silence=silence)
    assert spans_of_speech(values, samples, rules) == [(s["start"], s["end"]) for s in expected]


def test_no_speech_is_a_reason_and_bad_rows_go_alone(tmp_path: Path) -> None:
    rows = [
        {"audio_filepath": put(tmp_path, "quiet.wav", wav(tone(2) * 0))},
        {"audio_filepath": put(tmp_path, "cut.wav", wav(tone(30))[:90_000])},
        {"audio_filepath": put(tmp_path, "one.wav", wav(tone(1)[:, :1]))},
        {"audio_filepath": put(tmp_path, "said.wav", wav(voice(3)))},
    ]
    run = run_stages([SpeechFinder()], [AudioBatch.from_pylist(rows)], on_error="quarantine")
    assert run.counts.reasons == {"no speech": 2}
    assert run.counts.items_rejected == 1
    assert run.outputs[0].num_items == 1


def test_segments_know_their_place(tmp_path: Path) -> None:
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
    [note] = [one for one in SegmentExtractor().process(task) if isinstance(one, Dropped)]
    assert isinstance(note.records, AudioBatch)
    assert note.records.to_pylist()[0]["audio_filepath"] == "b.wav"
    rows = run.outputs[0].to_pylist()
    assert [(r["offset"], r["duration"], r["segment"], r["source_text"]) for r in rows] == [
        (100.5, 1.5, 0, "all of it"),
        (102.25, 0.75, 1, "all of it"),
    ]
    (joined,) = run_stage(SegmentJoiner(max_gap=0.3), run.outputs[0])
    (row,) = joined.to_pylist()
    assert (row["offset"], row["duration"], row["joined"]) == (100.5, 2.5, 2)
    (apart,) = run_stage(SegmentJoiner(max_gap=0.2), run.outputs[0])
    assert apart.num_items == 2


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


def test_segments_are_concatenated_and_times_find_their_way_back(tmp_path: Path) -> None:
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


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mistakes_are_told(tmp_path: Path) -> None:
    assert list(SpeechFinder(threshold=2).check()) == [
        "threshold is 2, but must be between 0 and 1"
    ]
    with pytest.raises(DetectorError, match=r"no detector of speech at /no/where: give the path"):
        locate("/no/where")
    (tmp_path / "other.jit").write_text(json.dumps({}))
    stage = SpeechFinder(weights=str(tmp_path / "other.jit"))
    with pytest.raises((DetectorError, StageError), match="holds no detector of speech"):
        run_stage(stage, AudioBatch.from_pylist([{"audio_filepath": "a.wav"}]))
    buffer = torch.ones(258, 1, 256)
    network = torch.nn.Module()
    network._model = torch.nn.Module()
    network._model.stft = torch.nn.Module()
    network._model.stft.register_buffer("forward_basis_buffer", buffer)
    torch.jit.script(network).save(str(tmp_path / "ones.jit"))
    with pytest.raises(DetectorError, match="its spectra are not those of Silero's network"):
        load(str(tmp_path / "ones.jit"))


def test_stages_keep_what_stages_promise(tmp_path: Path) -> None:
    task = batch(tmp_path, {"a": conversation(5, 1), "b": conversation(3, 2)})
    check_stage(SpeechFinder(), task)
    (found,) = run_stage(SpeechFinder(), task)
    check_stage(SegmentExtractor(), found)
    (cut,) = run_stage(SegmentExtractor(), found)
    check_stage(SegmentJoiner(), cut)
    check_stage(LongSplitter(1.0), cut)
