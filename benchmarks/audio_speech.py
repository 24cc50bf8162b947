"""Finding speech: against the loop of Silero's own package, and against labels in noise."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from audio_sizes import Sizes
from curator_audio import SPEECH, AudioBatch, SpeechFinder
from curator_core import WorkerInfo
from measuring.figures import Figure
from measuring.read_speech import RATE, Samples, heard, labelled, noisy, passages, prompts
from measuring.spending import cpu_seconds, faster
from measuring.timing import in_turns
from sounds import wav

LEAST_SPEED, LEAST_F1 = 8.0, 0.95

Spans = list[tuple[float, float]]


def finding(sizes: Sizes) -> Iterator[Figure]:
    """The same samples, in memory, for both: what decoding costs is another row."""
    from silero_vad import get_speech_timestamps, load_silero_vad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = load_silero_vad()
    stage, batch = _finder(), _batch(_conversations(sizes))
    waves = [wave.samples[0] for wave in batch.waveforms(SPEECH).values]
    found: dict[str, list[Spans]] = {}

    def ours() -> None:
        found["ours"] = _spans(stage, batch)

    def theirs() -> None:
        told = [get_speech_timestamps(torch.from_numpy(wave), model) for wave in waves]
        found["silero"] = [[(s["start"] / RATE, s["end"] / RATE) for s in one] for one in told]

    jobs = {"ours": lambda: cpu_seconds(ours), "silero": lambda: cpu_seconds(theirs)}
    seconds, every = in_turns(jobs, sizes.rounds)
    minutes = sum(wave.size for wave in waves) / RATE / 60
    what = f"speech found in {minutes:.0f} minutes of read speech, against Silero's loop"
    yield faster(what, LEAST_SPEED, seconds, every, peer="silero")
    same = sum(a == b for a, b in zip(found["ours"], found["silero"], strict=True))
    spans = sum(map(len, found["silero"]))
    told = f"{same} of {len(waves)}, {spans} spans"
    yield Figure("recordings with identical spans", "all", told, same == len(waves))


def in_noise(sizes: Sizes) -> Iterator[Figure]:
    """Hundredths of a second that are rightly and wrongly taken for speech."""
    clean = labelled(_voices(sizes), seed=5)
    stage = _finder()
    for color in ("white", "pink"):
        for decibels in (0.0, 10.0):
            samples = noisy(clean, decibels, 6, color)
            (spans,) = _spans(stage, _batch([samples]))
            f1 = _f1(_flags(spans, clean.spoken.size), clean.spoken)
            what = f"speech found at {decibels:g} dB of {color} noise, F1 over 10 ms"
            counts = decibels == 0
            target = f">= {LEAST_F1:g}" if counts else "-"
            yield Figure(what, target, f"{f1:.3f}", f1 >= LEAST_F1 if counts else None)


def _finder() -> SpeechFinder:
    stage = SpeechFinder(keep_silent=True)
    stage.setup(WorkerInfo())
    return stage


def _batch(recordings: Sequence[Samples]) -> AudioBatch:
    return AudioBatch.from_pylist([{"audio": wav(one[None], RATE)} for one in recordings])


def _spans(stage: SpeechFinder, batch: AudioBatch) -> list[Spans]:
    told: Any = next(iter(stage.process(batch)))
    return [[(span["start"], span["end"]) for span in row["speech"]] for row in told.to_pylist()]


def _voices(sizes: Sizes) -> list[Samples]:
    return [heard(one.path) for one in passages()] + [heard(p) for p in prompts(sizes.prompts)]


def _conversations(sizes: Sizes) -> list[Samples]:
    """As many recordings as are wanted, of the same voices in another order."""
    voices = _voices(sizes)
    random = np.random.default_rng(1)
    length = sizes.seconds * RATE
    found = []
    for number in range(sizes.files):
        order = [voices[place] for place in random.permutation(len(voices))]
        joined = labelled(order, number).samples
        found.append(joined[: int(length * random.uniform(0.5, 1.5))])
    return found


def _flags(spans: Spans, count: int) -> Any:
    flags = np.zeros(count, bool)
    for start, end in spans:
        flags[round(start * 100) : round(end * 100)] = True
    return flags


def _f1(found: Any, true: Any) -> float:
    both = int((found & true).sum())
    return 2 * both / max(1, int(found.sum() + true.sum()))
