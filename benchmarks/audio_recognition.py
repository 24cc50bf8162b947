"""Recognizing: a small Whisper model from a wheel, on passages of a novel that somebody reads."""

from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from audio_sizes import Sizes
from curator_audio import SPEECH, AudioBatch, SpeechRecognizer
from curator_audio.transcripts.error_rates import Normalization, word_error_rate
from curator_core import WorkerInfo
from measuring.figures import Figure
from measuring.read_speech import RATE, Samples, heard, labelled, passages
from measuring.spending import cpu_seconds
from sounds import wav

MOST_WER, LEAST_SPEED = 0.08, 8.0
_WHAT = "read speech by a small Whisper model"


def recognition(sizes: Sizes) -> Iterator[Figure]:
    """Several passages make a recording, as in a book: a model that pads takes 30 s of each."""
    stage = SpeechRecognizer(language="en")
    problems = list(stage.check())
    if problems:
        yield Figure(
            _WHAT, f"WER <= {MOST_WER:.0%}, >= {LEAST_SPEED:g}x realtime", problems[0], None
        )
        return
    recordings = _recordings(max(1, sizes.files // 4))
    batch = AudioBatch.from_pylist([{"audio": wav(one[None], RATE)} for one, _ in recordings])
    batch = batch.waveforms(SPEECH).batch
    stage.setup(WorkerInfo())
    found: dict[str, Any] = {}

    def work() -> None:
        found["rows"] = next(iter(stage.process(batch))).to_pylist()

    every = [cpu_seconds(work) for _ in range(sizes.rounds)]
    spent = median(every)
    normal = Normalization()
    said = " ".join(normal(text) for _, text in recordings)
    told = " ".join(normal(row["pred_text"]) for row in found["rows"])
    rate = word_error_rate(said, told)
    seconds = sum(one.size for one, _ in recordings) / RATE
    words = len(said.split())
    yield Figure(
        f"{_WHAT}: errors in {words:,} words", f"<= {MOST_WER:.0%}", f"{rate:.1%}", rate <= MOST_WER
    )
    speed = seconds / spent
    value = f"{speed:.1f}x realtime ({seconds:.0f} s in {spent:.1f} CPU-s)"
    target, met = f">= {LEAST_SPEED:g}x per core", speed >= LEAST_SPEED
    yield Figure(f"{_WHAT}: speed", target, value, met, {"cpu_seconds": every})


def _recordings(count: int) -> list[tuple[Samples, str]]:
    known = [(heard(one.path), one.text) for one in passages()]
    random = np.random.default_rng(4)
    found = []
    for number in range(count):
        order = random.permutation(len(known))
        joined = labelled([known[place][0] for place in order], number)
        found.append((joined.samples, " ".join(known[place][1] for place in order)))
    return found
