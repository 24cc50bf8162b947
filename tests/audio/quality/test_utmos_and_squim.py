"""Networks are loaded from files and run piece by piece, and rows are dropped by their scores."""

from pathlib import Path

import numpy as np
import pytest
import torch
from curator_audio import AudioBatch, SquimFilter, UtmosFilter
from curator_audio.torchaudio_compat import torchaudio
from curator_core import PipelineError, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from sounds import put, tone, wav


class Loudness(torch.nn.Module):
    def forward(self, sounds: torch.Tensor) -> torch.Tensor:
        return sounds.abs().amax(dim=1) * 5


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("weights") / "utmos.jit"
    with pytest.warns(DeprecationWarning, match="jit"):
        torch.jit.save(torch.jit.script(Loudness()), str(path))
    return str(path)


def batch(folder: Path, *levels: float, seconds: float = 1.0) -> AudioBatch:
    rows = [
        {"audio_filepath": put(folder, f"{n}.wav", wav(tone(seconds, level=level), floats=True))}
        for n, level in enumerate(levels)
    ]
    return AudioBatch.from_pylist(rows)


def test_a_script_scores_several_recordings_per_call(tmp_path: Path, script: str) -> None:
    run = run_stages([UtmosFilter(weights=script, at_least=2.0)], [batch(tmp_path, 0.2, 0.8, 0.6)])
    rows = run.outputs[0].to_pylist()
    assert [row["utmos"] for row in rows] == pytest.approx([4.0, 3.0], abs=1e-3)
    assert rows[0]["utmos_model"].startswith("utmos utmos sha256:")
    assert run.counts.reasons == {"utmos below 2": 1}
    assert run.counts.models == {rows[0]["utmos_model"]: 2}
    assert sum(run.counts.scores["utmos"].dropped.values()) == 1
    check_stage(UtmosFilter(weights=script), batch(tmp_path, 0.5))


def test_a_long_recording_has_the_mean_score_of_its_pieces(tmp_path: Path, script: str) -> None:
    sound = np.hstack([tone(15, level=0.2), tone(15, level=0.6)])
    row = {"audio_filepath": put(tmp_path, "long.wav", wav(sound, floats=True))}
    (scored,) = run_stage(UtmosFilter(weights=script), AudioBatch.from_pylist([row]))
    expected = (1 + 3 + 3) / 3  # the second of three pieces holds some of both
    assert scored.to_pylist()[0]["utmos"] == pytest.approx(expected, abs=1e-3)


def test_squim_scores_equal_those_of_torchaudio(tmp_path: Path) -> None:
    torch.manual_seed(0)
    network = torchaudio.models.squim_objective_base().eval()
    weights = tmp_path / "squim.pth"
    torch.save(network.state_dict(), weights)
    recordings = batch(tmp_path, 0.5)
    (scored,) = run_stage(SquimFilter(weights=str(weights)), recordings)
    (row,) = scored.to_pylist()
    with torch.inference_mode():
        expected = [float(one) for one in network(torch.from_numpy(tone(1.0)))]
    names = ("squim_stoi", "squim_pesq", "squim_si_sdr")
    assert [row[name] for name in names] == pytest.approx(expected, abs=1e-4)
    assert row["squim_stoi_model"].startswith("squim squim sha256:")


def test_invalid_options_are_reported(tmp_path: Path, script: str) -> None:
    missing = str(tmp_path / "missing.jit")
    assert list(UtmosFilter(weights=missing).check()) == [
        f"UTMOS: no such file: {missing}; give the path of its weights, or a name at Hugging "
        "Face such as 'owner/name'"
    ]
    wrong = tmp_path / "wrong.jit"
    wrong.write_bytes(b"something else")
    recordings = batch(tmp_path, 0.5)
    with pytest.raises((PipelineError, StageError), match=r"wrong\.jit is not a TorchScript file"):
        run_stage(UtmosFilter(weights=str(wrong)), recordings)
    with pytest.raises((PipelineError, StageError), match="has no weights that can be loaded"):
        run_stage(SquimFilter(weights=str(wrong)), recordings)
    other = tmp_path / "other.pth"
    torch.save({"a": torch.zeros(1)}, other)
    with pytest.raises((PipelineError, StageError), match="has no weights of SQUIM"):
        run_stage(SquimFilter(weights=str(other)), recordings)
