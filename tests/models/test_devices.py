"""Models run on a GPU only where one is present, requested and granted."""

import logging

import pytest
import torch
from curator_core import WorkerInfo
from curator_core.model.resources import Resources
from curator_models import devices


def test_a_gpu_is_requested_if_the_machine_has_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    devices._warn_without_gpu.cache_clear()
    monkeypatch.setattr(devices, "visible_gpus", list)
    with caplog.at_level(logging.WARNING, logger="curator_models"):
        assert devices.default_resources("auto", "judge") == Resources()
        devices.default_resources("auto", "judge")
    [warning] = [r.getMessage() for r in caplog.records]
    assert warning.startswith("stage 'judge' will run on the CPU: this machine has no GPU")
    monkeypatch.setattr(devices, "visible_gpus", lambda: ["0"])
    assert devices.default_resources("auto", "judge") == Resources(gpus=1)
    assert devices.default_resources("cpu", "judge") == Resources()


def test_a_gpu_is_used_only_if_it_was_requested_and_granted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    granted, requested = WorkerInfo(gpu_ids=("3",)), Resources(gpus=1)
    assert devices.choose_device(WorkerInfo(), requested, "s").type == "cpu"
    assert devices.choose_device(granted, Resources(), "s").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.choose_device(granted, requested, "s") == torch.device("cuda:0")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with caplog.at_level(logging.WARNING, logger="curator_models"):
        assert devices.choose_device(granted, requested, "s").type == "cpu"
    assert "was granted a GPU, but this build of torch" in caplog.text


def test_half_precision_is_for_gpus_unless_a_type_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cpu, gpu = torch.device("cpu"), torch.device("cuda:0")
    assert devices.choose_dtype(cpu, True) is None
    assert devices.choose_dtype(cpu, "bf16") is torch.bfloat16
    assert devices.choose_dtype(gpu, False) is None
    assert devices.choose_dtype(gpu, "fp16") is torch.float16
    for supported, kind in ((True, torch.bfloat16), (False, torch.float16)):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda supported=supported: supported)
        assert devices.choose_dtype(gpu, True) is kind
