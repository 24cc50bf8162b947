"""Measures of synthetic sounds are exact; a wrong duration is corrected."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from curator_audio import (
    NATIVE,
    AudioBatch,
    AudioMeasurer,
    LoudnessNormalizer,
)
from curator_audio.measures.measurer import MEASURES
from curator_audio.waveform import Waveform
from curator_core import AnyStage
from curator_core.testing import check_stage, run_stage, run_stages
from sounds import Samples, put, tone, voice, wav

Problems = Callable[[AnyStage], list[str]]


def measured(name: str, samples: Samples, rate: int = 48_000, step: int | None = None) -> Any:
    accumulator = MEASURES[name]()
    step = step or samples.shape[1]
    for first in range(0, samples.shape[1], step):
        accumulator.add(Waveform(samples[:, first : first + step], rate))
    return accumulator.result()


def ebur128(samples: Samples, rate: int) -> float:
    graph = av.filter.Graph()
    layout = "mono" if samples.shape[0] == 1 else "stereo"
    source = graph.add_abuffer(sample_rate=rate, format="fltp", layout=layout)
    meter, sink = graph.add("ebur128", "metadata=1"), graph.add("abuffersink")
    source.link_to(meter)
    meter.link_to(sink)
    graph.configure()
    frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout=layout)
    frame.sample_rate, frame.pts = rate, 0
    source.push(frame)
    source.push(None)
    heard = -70.0
    while True:
        try:
            heard = float(sink.pull().metadata["lavfi.r128.I"])
        except (av.EOFError, av.BlockingIOError, KeyError):
            return heard


def noise(seconds: float, rate: int, level: float) -> Samples:
    made = np.random.default_rng(3).standard_normal((1, round(seconds * rate)))
    return (level * made).astype(np.float32)


def test_loudness_of_the_reference_signals() -> None:
    assert abs(measured("loudness_lufs", tone(20, 48_000, 997, 1.0)) + 3.01) < 0.02
    stereo = np.vstack([tone(20, 48_000, 1_000, 10 ** (-23 / 20))] * 2)
    assert abs(measured("loudness_lufs", stereo) + 23.0) < 0.02
    loud, quiet = tone(10, 48_000, 1_000, 0.1), tone(20, 48_000, 1_000, 0.1 * 10 ** (-30 / 20))
    gated = measured("loudness_lufs", np.hstack([quiet, loud, quiet]))
    assert abs(gated - measured("loudness_lufs", loud)) < 0.15


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100, 48_000])
def test_loudness_agrees_with_ebur128_for_any_block_size(rate: int) -> None:
    samples = np.hstack([voice(8, rate), noise(3, rate, 0.01), voice(4, rate, 1) * 0.3])
    reference = ebur128(np.ascontiguousarray(samples), rate)
    assert abs(measured("loudness_lufs", samples, rate) - reference) < 0.05
    assert abs(measured("loudness_lufs", samples, rate, 7_777) - reference) < 0.05


def test_odd_lengths_have_defined_values() -> None:
    one = np.full((1, 1), 0.25, np.float32)
    values = {name: measured(name, one, 16_000) for name in MEASURES}
    assert values.pop("loudness_lufs") is None
    assert all(value is not None and math.isfinite(value) for value in values.values())
    silence = np.zeros((12, 192_000), np.float32)
    quiet = {name: measured(name, silence, 192_000) for name in MEASURES}
    assert quiet == {
        "duration": 1.0,
        "sample_rate": 192_000,
        "channels": 12,
        "bandwidth_hz": 0,
        "peak_db": -100,
        "clipping": 0,
        "dc_offset": 0,
        "silence": 1,
        "snr_db": 0 if quiet["snr_db"] == 0 else quiet["snr_db"],
        "loudness_lufs": -70,
    }
    assert abs(quiet["snr_db"]) < 1


def test_levels() -> None:
    half = tone(1, 48_000, level=0.5)
    assert abs(measured("peak_db", half) + 6.02) < 0.01
    assert measured("clipping", half) == 0
    clipped = np.clip(half * 4, -1, 1)
    assert abs(measured("clipping", clipped) - 2 / 3) < 0.01
    assert abs(measured("dc_offset", np.vstack([half, half + 0.125])) - 0.125) < 1e-4
    gap = np.hstack([half, half * 0, half, half * 0])
    assert abs(measured("silence", gap, step=1_111) - 0.5) < 0.01


@pytest.mark.parametrize("wanted", [0, 10, 20, 40])
def test_snr_equals_that_of_the_mixture(wanted: int) -> None:
    rate = 16_000
    speech = np.hstack([voice(2, rate), np.zeros((1, rate), np.float32)] * 3)
    power = float((speech**2).mean())
    mixed = speech + noise(9, rate, math.sqrt(power / 10 ** (wanted / 10)))
    assert abs(measured("snr_db", mixed, rate) - wanted) < 1.5


def test_bandwidth_reveals_upsampling() -> None:
    full = measured("bandwidth_hz", noise(5, 48_000, 0.1), step=5_000)
    assert full > 23_000
    narrow = noise(5, 8_000, 0.1)
    from curator_audio.resampling import resample_blocks

    widened = np.hstack(list(resample_blocks([narrow], 8_000, 48_000, "best")))
    assert 3_500 < measured("bandwidth_hz", widened) < 4_500


def batch(folder: Path) -> AudioBatch:
    quiet = voice(3) * 0.02
    rows = {"long": voice(5), "short": voice(0.3), "quiet": quiet}
    return AudioBatch.from_pylist(
        [
            {"audio_filepath": put(folder, f"{name}.wav", wav(samples)), "duration": 5.0}
            for name, samples in rows.items()
        ]
        + [{"audio_filepath": f"{folder}/missing.wav", "duration": 5.0}]
    )


def test_a_wrong_duration_is_corrected(tmp_path: Path) -> None:
    (given,) = run_stages(
        [AudioMeasurer(["duration", "snr_db"])], [batch(tmp_path)], on_error="quarantine"
    ).outputs
    rows = given.to_pylist()
    assert [(row["duration"], row["duration_given"]) for row in rows] == [
        (5.0, None),
        (0.3, 5.0),
        (3.0, 5.0),
    ]


def test_normalized_rows_have_the_target_loudness(tmp_path: Path) -> None:
    (levelled,) = run_stage(LoudnessNormalizer(-23.0), batch(tmp_path).take([0, 2]))
    (after,) = run_stage(AudioMeasurer(["loudness_lufs"]), levelled)
    assert all(abs(row["loudness_lufs"] + 23) < 0.1 for row in after.to_pylist())
    (again,) = run_stage(LoudnessNormalizer(-30.0), levelled)
    (heard,) = [again.waveforms(NATIVE)]
    assert abs(measured("loudness_lufs", heard.values[1].samples, 16_000) + 30) < 0.1


def test_invalid_options_are_reported(problems: Problems) -> None:
    assert list(AudioMeasurer(["snr"]).check()) == ["measures names 'snr' (did you mean snr_db?)"]
    assert problems(LoudnessNormalizer(3.0)) == ["target_lufs is 3"]


@pytest.mark.parametrize("stage", [AudioMeasurer(), LoudnessNormalizer()], ids=type)
def test_stages_pass_the_contract(stage: Any, tmp_path: Path) -> None:
    check_stage(stage, batch(tmp_path).take([0, 1, 2]))
