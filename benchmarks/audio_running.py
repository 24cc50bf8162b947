"""The whole recipe: two workers against one, and memory with more recordings or a long one."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
from audio_sizes import Sizes
from curator_audio.encoding import encode
from curator_audio.waveform import Waveform
from measuring.figures import Figure
from measuring.read_speech import RATE, Samples, heard, labelled, noisy, passages, prompts
from measuring.timing import in_turns, run_job

LEAST_SPEEDUP, MOST_GROWTH = 1.7, 1.2
_TIMES = 20
_FEWEST = 8
"""Recordings of a minute: enough for two workers to be at work."""

MB = 1_000_000
_ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def workers(sizes: Sizes) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as place:
        recordings = _minutes(Path(place) / "recordings", sizes.minutes)
        found: dict[int, int] = {}
        spent: dict[int, float] = {}

        def with_workers(number: int) -> Callable[[], float]:
            def once() -> float:
                output = Path(place) / "out"
                done = run_job("cut_speech.py", recordings, output, number, environment=_ONE_THREAD)
                found[number], spent[number] = done.facts["files"], done.cpu_s
                return float(done.facts["seconds"])

            return once

        jobs = {str(number): with_workers(number) for number in (1, 2)}
        seconds, every = in_turns(jobs, sizes.rounds)
    speedup = seconds["1"] / seconds["2"]
    yield Figure(
        f"{sizes.minutes} minutes through the whole recipe, two workers against one",
        f">= {LEAST_SPEEDUP:g}x, the same segments",
        f"{speedup:.2f}x ({seconds['1']:.1f} s, {seconds['2']:.1f} s; {spent[1]:.1f} and "
        f"{spent[2]:.1f} CPU-s; {found[1]:,} segments)",
        speedup >= LEAST_SPEEDUP and found[1] == found[2],
        {"seconds": every, "cpu_seconds": spent},
    )


def memory(sizes: Sizes) -> Iterator[Figure]:
    """Of all processes together, at its highest."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        few = _peak(_minutes(folder / "few", _FEWEST), folder)
        many = _peak(_minutes(folder / "many", _FEWEST * _TIMES), folder)
        shutil.rmtree(folder / "many")
        long = _peak(_long(folder / "long", sizes.long_hours), folder)
    for what, peak in (
        (f"{_FEWEST * _TIMES / 60:.1f} hours instead of {_FEWEST} minutes", many),
        (f"one recording of {sizes.long_hours:g} hours instead of {_FEWEST} of a minute", long),
    ):
        yield Figure(
            f"memory with {what}",
            "flat, within 20 %",
            f"{few / MB:,.0f} MB, then {peak / MB:,.0f} MB: {peak / few - 1:+.0%}",
            peak <= few * MOST_GROWTH,
        )


def _peak(recordings: Path, folder: Path) -> int:
    job = ("cut_speech.py", recordings, folder / "out", 2)
    return run_job(*job, watch_memory=True, environment=_ONE_THREAD).peak_bytes


def _minutes(folder: Path, count: int) -> Path:
    """Recordings of a minute of read speech, each with noise of its own."""
    folder.mkdir()
    speech = _speech()
    for number in range(count):
        random = np.random.default_rng(number)
        turned = np.roll(speech, int(random.integers(speech.size)))[: 60 * RATE]
        noise = 10 ** random.uniform(-4, -2.5) * random.standard_normal(turned.size)
        wave = Waveform((turned + noise).astype(np.float32)[None], RATE)
        (folder / f"{number:04d}.flac").write_bytes(encode(wave, "flac"))
    return folder


def _speech() -> Samples:
    clean = labelled([heard(one.path) for one in passages()] + [heard(p) for p in prompts(20)], 3)
    return noisy(clean, 35.0, 4)


def _long(folder: Path, hours: float) -> Path:
    """One recording, encoded bit by bit, since all of it would fill the memory."""
    folder.mkdir()
    speech = _speech()
    with av.open(str(folder / "long.flac"), "w") as container:
        stream = container.add_stream("flac", rate=RATE, layout="mono", format="s16")
        left = round(hours * 3600 * RATE)
        while left > 0:
            samples = np.round(speech[None, :left] * 32767).astype(np.int16)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate = RATE
            container.mux(stream.encode(frame))
            left -= samples.shape[1]
        container.mux(stream.encode(None))
    return folder
