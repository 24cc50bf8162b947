"""CPUs and GPUs that a process may use, and full GPUs."""

import os
import sys
from types import SimpleNamespace

import pytest
from curator_core.model.hardware import (
    available_cpus,
    empty_device_cache,
    is_out_of_memory,
    visible_gpus,
)


@pytest.mark.parametrize(
    ("visible", "devices"), [("", []), ("-1", []), ("3", ["3"]), ("0,2", ["0", "2"])]
)
def test_visible_gpus(visible: str, devices: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert visible_gpus() == devices


def test_available_cpus() -> None:
    assert available_cpus() == len(os.sched_getaffinity(0))


class OutOfMemoryError(RuntimeError):
    pass


@pytest.mark.parametrize(
    ("error", "is_one"),
    [
        (OutOfMemoryError("no room"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("HIP out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("MPS backend out of memory (MPS allocated: 8.00 GB)"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: 12 bytes"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"), True),
        (RuntimeError("bad shape"), False),
        (ValueError("CUDA out of memory"), False),
        (TypeError("OutOfMemoryError"), False),
        (MemoryError(), False),
    ],
)
def test_every_sign_of_a_full_device_is_recognized(error: Exception, is_one: bool) -> None:
    assert is_out_of_memory(error) is is_one


@pytest.mark.parametrize("is_initialized", [True, False])
def test_the_cache_is_emptied_only_where_a_device_is_in_use(
    monkeypatch: pytest.MonkeyPatch, is_initialized: bool
) -> None:
    emptied = []
    cuda = SimpleNamespace(
        is_initialized=lambda: is_initialized, empty_cache=lambda: emptied.append(1)
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    empty_device_cache()
    assert len(emptied) == is_initialized


def test_without_torch_or_with_a_broken_device_nothing_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    empty_device_cache()
    assert "torch" not in sys.modules

    def breaks() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    cuda = SimpleNamespace(is_initialized=lambda: True, empty_cache=breaks)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    empty_device_cache()
