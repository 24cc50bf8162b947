"""torchaudio can be imported next to any torch, without its compiled part."""

import math
import subprocess
import sys

import pytest
import torch
from curator_audio.torchaudio_compat import NoExtension, torchaudio


def test_resampling_keeps_a_tone() -> None:
    seconds = torch.arange(16_000) / 16_000
    tone = torch.sin(2 * math.pi * 440 * seconds)
    half = torchaudio.functional.resample(tone, 16_000, 8_000)
    assert half.shape == (8_000,)
    assert int(torch.fft.rfft(half).abs().argmax()) == 440


def test_a_later_import_gets_the_same_module() -> None:
    import torchaudio as plainly_imported

    assert plainly_imported is torchaudio


def test_calling_a_compiled_function_says_to_install_a_matching_pair() -> None:
    @NoExtension.fail_if_no_align
    def forced_align() -> None: ...

    with pytest.raises(RuntimeError, match=r"forced_align is compiled code.*matching pair"):
        forced_align()


def test_torchaudio_for_another_cuda_is_loaded_without_its_compiled_part() -> None:
    code = """
import sys
from importlib.abc import MetaPathFinder

class OtherCuda(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "torchaudio._extension":
            raise RuntimeError("PyTorch and TorchAudio were compiled with different CUDA versions")

sys.meta_path.insert(0, OtherCuda())
from curator_audio.torchaudio_compat import torchaudio
print(type(torchaudio.models.squim_objective_base()).__name__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "SquimObjective", done.stderr
