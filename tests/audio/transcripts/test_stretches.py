"""Long rows are heard from one quiet moment to another, and what was said is joined."""

from pathlib import Path

import numpy as np
import pytest
from curator_audio import AudioBatch, SpeechRecognizer
from curator_audio.transcripts import stretches
from curator_audio.transcripts.engines.recognitions import Recognition, Word
from curator_audio.transcripts.stretches import Stretches, together
from curator_audio.waveforms import Waveform
from curator_core import WorkerInfo
from numpy.typing import NDArray
from sounds import put, wav

Sound = NDArray[np.float32]
RATE = 16_000


class Counting:
    """Says how many seconds it heard, as a word that lasts as long."""

    def setup(self, worker: WorkerInfo) -> str:
        return "counting"

    def hear(self, sound: Sound) -> Recognition:
        seconds = len(sound) / RATE
        return Recognition(f"{seconds:.2f}", "en", [Word(f"{seconds:.2f}", 0.0, seconds)])


def heard(sound: Sound) -> Recognition:
    listener = Stretches(Counting())
    for start in range(0, len(sound), 10 * RATE):
        listener.hear(Waveform(sound[None, start : start + 10 * RATE], RATE))
    return listener.answer()


def noise(seconds: float) -> Sound:
    return np.random.default_rng(0).uniform(-1, 1, round(seconds * RATE)).astype(np.float32)


def test_a_row_that_is_short_enough_is_heard_at_once() -> None:
    assert heard(noise(300)).text == "300.00"


def test_a_long_row_is_left_where_it_is_quiet() -> None:
    sound = noise(650)
    for second in (281.0, 290.0, 560.0):  # the first pause is short, the third in the next stretch
        sound[round(second * RATE) : round((second + 0.6) * RATE)] *= 0.01
    sound[round(281.05 * RATE) : round(281.6 * RATE)] = 0.5
    told = heard(sound)
    edges = [(word.start, word.end) for word in told.words]
    assert edges[0][0] == 0.0
    assert 290.0 < edges[0][1] < 290.6
    assert edges[1][0] == edges[0][1]
    assert 560.0 < edges[1][1] < 560.6
    assert edges[2] == pytest.approx((edges[1][1], 650.0))
    assert told.text == " ".join(word.word for word in told.words)


def test_where_nothing_is_quiet_it_goes_on_all_the_same() -> None:
    told = heard(np.ones(round(1_000.5 * RATE), np.float32))
    assert sum(word.end - word.start for word in told.words) == pytest.approx(1_000.5)
    assert max(word.end - word.start for word in told.words) <= stretches.LONGEST


def test_a_recognizer_never_holds_a_long_row_at_once(tmp_path: Path) -> None:
    stage = SpeechRecognizer(words=True)
    stage._engine, stage._known_as = Counting(), "counting"
    path = put(tmp_path, "long.wav", wav(noise(320)[None]))
    [batch] = stage.process(AudioBatch.from_pylist([{"audio_filepath": path}]))
    assert isinstance(batch, AudioBatch)
    [row] = batch.to_pylist()
    assert [word["start"] > 0 for word in row["words"]] == [False, True]
    assert row["words"][-1]["end"] == pytest.approx(320.0)


def test_the_language_is_that_in_which_most_was_said() -> None:
    told = [Recognition("oh", "en"), Recognition("", None), Recognition("guten Tag", "de")]
    assert together(told) == Recognition("oh guten Tag", "de", [])
    assert together([Recognition("你好", "zh"), Recognition("再见", "zh")]).text == "你好再见"
