"""Long rows are split at quiet moments, and their transcripts are joined."""

from pathlib import Path

import numpy as np
import pytest
from curator_audio import AudioBatch, SpeechRecognizer
from curator_audio.transcripts.engines import Recognition, RecognizedWord
from curator_audio.transcripts.recognizer import (
    MAX_PART_SECONDS,
    LongTranscriber,
    join_recognitions,
)
from curator_audio.waveform import Waveform
from curator_core import WorkerInfo
from numpy.typing import NDArray
from sounds import put, wav

Sound = NDArray[np.float32]
RATE = 16_000


class Counting:
    """Transcribe as one word: the number of seconds."""

    def setup(self, worker: WorkerInfo) -> str:
        return "counting"

    def transcribe(self, sound: Sound) -> Recognition:
        seconds = len(sound) / RATE
        return Recognition(f"{seconds:.2f}", "en", [RecognizedWord(f"{seconds:.2f}", 0.0, seconds)])


def transcribe(sound: Sound) -> Recognition:
    accumulator = LongTranscriber(Counting())
    for start in range(0, len(sound), 10 * RATE):
        accumulator.add(Waveform(sound[None, start : start + 10 * RATE], RATE))
    return accumulator.result()


def noise(seconds: float) -> Sound:
    return np.random.default_rng(0).uniform(-1, 1, round(seconds * RATE)).astype(np.float32)


def test_a_short_row_is_transcribed_at_once() -> None:
    assert transcribe(noise(300)).text == "300.00"


def test_a_long_row_is_split_at_quiet_moments() -> None:
    sound = noise(650)
    for second in (281.0, 290.0, 560.0):  # the first pause is short, the third in the next stretch
        sound[round(second * RATE) : round((second + 0.6) * RATE)] *= 0.01
    sound[round(281.05 * RATE) : round(281.6 * RATE)] = 0.5
    result = transcribe(sound)
    edges = [(word.start, word.end) for word in result.words]
    assert edges[0][0] == 0.0
    assert 290.0 < edges[0][1] < 290.6
    assert edges[1][0] == edges[0][1]
    assert 560.0 < edges[1][1] < 560.6
    assert edges[2] == pytest.approx((edges[1][1], 650.0))
    assert result.text == " ".join(word.word for word in result.words)


def test_a_long_row_without_quiet_moments_is_split_anyway() -> None:
    result = transcribe(np.ones(round(1_000.5 * RATE), np.float32))
    assert sum(word.end - word.start for word in result.words) == pytest.approx(1_000.5)
    assert max(word.end - word.start for word in result.words) <= MAX_PART_SECONDS


def test_a_recognizer_never_holds_a_whole_long_row(tmp_path: Path) -> None:
    stage = SpeechRecognizer(words=True)
    stage._engine, stage._model_label = Counting(), "counting"
    path = put(tmp_path, "long.wav", wav(noise(320)[None]))
    [batch] = stage.process(AudioBatch.from_pylist([{"audio_filepath": path}]))
    assert isinstance(batch, AudioBatch)
    [row] = batch.to_pylist()
    assert [word["start"] > 0 for word in row["words"]] == [False, True]
    assert row["words"][-1]["end"] == pytest.approx(320.0)


def test_the_language_is_the_one_with_the_most_text() -> None:
    parts = [Recognition("oh", "en"), Recognition("", None), Recognition("guten Tag", "de")]
    assert join_recognitions(parts) == Recognition("oh guten Tag", "de", [])
    assert (
        join_recognitions([Recognition("你好", "zh"), Recognition("再见", "zh")]).text == "你好再见"
    )
