"""Measures audio: `hatch run bench:audio [--rounds N]`.

Recordings are made here; each row says beside what it was measured. CPU seconds of this process and
of the processes that it waited for are what counts, taken in turns.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch: one core each

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jiwer
import torch
from curator_audio import SPEECH, AudioBatch, SpeechFinder
from curator_audio._torchaudio import torchaudio  # noqa: F401 - before silero_vad asks for it
from curator_audio.decoding import decode
from curator_audio.measuring.loudness import IntegratedLoudness
from curator_audio.transcripts.rates import character_error_rate, word_error_rate
from curator_audio.waveforms import Waveform
from curator_core import WorkerInfo
from measuring.commands import run_command
from measuring.figures import Figure
from measuring.timing import in_turns

RESULTS = Path(__file__).parent / "results" / "audio.json"
SOUNDS = Path(__file__).parents[1] / "tests" / "audio"
FILES, SECONDS = 12, 10
RATE = 44_100
LEAST_LOADING, LEAST_DETECTING, MOST_LOUDNESS = 4.0, 8.0, 0.05


def main() -> int:
    sys.path.insert(0, str(SOUNDS))
    torch.set_num_threads(1)
    return run_command(__doc__, RESULTS, measured)


def measured(rounds: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        figures = [*_loading(folder, rounds), *_detecting(folder, rounds)]
    return [*figures, _loudness(), *_error_rates()]


def cpu_seconds(work: Callable[[], object]) -> float:
    """What it takes, with the processes that it starts."""
    before = _used()
    work()
    return _used() - before


def _used() -> float:
    whole = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in whole)


def _recordings(folder: Path, ending: str) -> list[str]:
    from sounds import encoded, put, voice

    return [
        put(folder / ending, f"{n}.{ending}", encoded(voice(SECONDS, RATE, n), RATE, ending))
        for n in range(FILES)
    ]


def _loading(folder: Path, rounds: int) -> Iterator[Figure]:
    """A file to 16 kHz mono, against a process of ffmpeg for each."""
    for ending in ("wav", "flac", "mp3"):
        paths = _recordings(folder, ending)
        what = f"{ending} to 16 kHz mono, against ffmpeg for each file"
        target = f">= {LEAST_LOADING:g}x"
        if shutil.which("ffmpeg") is None:
            yield Figure(what, target, "ffmpeg is not installed", None)
            continue
        jobs = {
            "ours": lambda paths=paths: cpu_seconds(lambda: [decode(p, SPEECH) for p in paths]),
            "ffmpeg": lambda paths=paths: cpu_seconds(lambda: [_ffmpeg(p) for p in paths]),
        }
        yield _faster(what, LEAST_LOADING, *in_turns(jobs, rounds), peer="ffmpeg")


def _ffmpeg(path: str) -> bytes:
    command = ["ffmpeg", "-v", "error", "-i", path, "-ar", "16000", "-ac", "1", "-f", "f32le", "-"]
    return subprocess.run(command, check=True, capture_output=True).stdout


def _faster(
    what: str, least: float, seconds: dict[str, float], every: dict[str, list[float]], *, peer: str
) -> Figure:
    ratio = seconds[peer] / seconds["ours"]
    return Figure(what, f">= {least:g}x", f"{ratio:.1f}x", ratio >= least, {"seconds": every})


def _detecting(folder: Path, rounds: int) -> Iterator[Figure]:
    """Spans of speech, against the loop of Silero's own package over the same samples."""
    from silero_vad import get_speech_timestamps, load_silero_vad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        model = load_silero_vad()
    batch = AudioBatch.from_pylist([{"audio_filepath": p} for p in _recordings(folder, "flac")])
    heard = batch.waveforms(SPEECH)
    waves = heard.values
    stage = SpeechFinder(keep_silent=True)
    stage.setup(WorkerInfo())
    found: dict[str, Any] = {}

    def ours() -> None:
        told = next(iter(stage.process(heard.batch)))
        assert isinstance(told, AudioBatch)
        found["ours"] = [
            [(span["start"], span["end"]) for span in row["speech"]] for row in told.to_pylist()
        ]

    def theirs() -> None:
        told = [get_speech_timestamps(torch.from_numpy(wave.samples[0]), model) for wave in waves]
        found["silero"] = [[(s["start"] / 16_000, s["end"] / 16_000) for s in one] for one in told]

    jobs = {"ours": lambda: cpu_seconds(ours), "silero": lambda: cpu_seconds(theirs)}
    what = "speech found in samples in memory, against Silero's loop"
    yield _faster(what, LEAST_DETECTING, *in_turns(jobs, rounds), peer="silero")
    same = sum(a == b for a, b in zip(found["ours"], found["silero"], strict=True))
    yield Figure("recordings with identical spans", f"{FILES}", f"{same}", same == FILES)


def _loudness() -> Figure:
    from sounds import tone

    samples = tone(20, 48_000, 997, 1.0)
    listener = IntegratedLoudness()
    listener.hear(Waveform(samples, 48_000))
    away = abs((listener.answer() or 0.0) + 3.01)
    target = f"within {MOST_LOUDNESS} LU"
    return Figure(
        "loudness of 997 Hz at full scale: -3.01", target, f"{away:.4f}", away <= MOST_LOUDNESS
    )


def _error_rates() -> Iterator[Figure]:
    chance = random.Random(0)
    words = [f"w{n}" for n in range(60)]
    pairs = [
        tuple(" ".join(chance.choices(words, k=chance.randint(1, 60))) for _ in range(2))
        for _ in range(1_000)
    ]
    for name, ours, theirs in (
        ("word", word_error_rate, jiwer.wer),
        ("character", character_error_rate, jiwer.cer),
    ):
        same = sum(ours(said, heard) == theirs(said, heard) for said, heard in pairs)
        what = f"{name} error rates identical with jiwer's"
        yield Figure(what, "1,000", f"{same:,}", same == 1_000)


if __name__ == "__main__":
    sys.exit(main())
