"""Node usage: what is read of a machine and its GPUs, and the largest figures of several times."""

# ruff: noqa: N802 - the names of nvidia-ml-py

import json
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from curator_core.model import node_usage
from curator_core.model.node_usage import GpuUsage, NodeUsage, ThisMachine, read_node_usage


class FakeNvml:
    """nvidia-ml-py, on a machine with these GPUs: used bytes, total bytes and per cent at work."""

    class NVMLError(Exception):
        pass

    def __init__(self, *gpus: tuple[int, int, int | None]) -> None:
        self.gpus = gpus
        self.is_lost = False

    def nvmlInit(self) -> None:
        pass

    def nvmlDeviceGetCount(self) -> int:
        if self.is_lost:
            raise self.NVMLError
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return SimpleNamespace(used=self.gpus[device][0], total=self.gpus[device][1])

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        if self.gpus[device][2] is None:
            raise self.NVMLError
        return SimpleNamespace(gpu=self.gpus[device][2])


Install = Callable[[FakeNvml], FakeNvml]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    def install(nvml: FakeNvml) -> FakeNvml:
        monkeypatch.setitem(sys.modules, "pynvml", nvml)
        node_usage._nvml.cache_clear()
        return nvml

    yield install
    node_usage._nvml.cache_clear()


def test_gpus_are_read_with_nvidia_ml_py(install: Install) -> None:
    nvml = install(FakeNvml((10, 80, 25), (72, 80, None)))
    assert read_node_usage().gpus == (GpuUsage(10, 80, 0.25), GpuUsage(72, 80, None))
    assert read_node_usage().gpus[1].memory_share == 0.9
    nvml.is_lost = True
    assert read_node_usage().gpus == ()


def test_memory_of_this_machine() -> None:
    usage = read_node_usage()
    assert 0 < usage.used_bytes < usage.total_bytes


def test_this_machine_is_read_once_per_interval(install: Install) -> None:
    nvml = install(FakeNvml((10, 80, 25)))
    rarely, always = ThisMachine("a", interval_s=3600.0), ThisMachine("b", interval_s=0.0)
    before = rarely(), always()
    nvml.gpus = ((20, 80, 25),)
    after = rarely(), always()
    used = [[node.gpus[0].used_bytes for read in (one, two) for node in read.values()]
            for one, two in zip(before, after, strict=True)]  # fmt: skip
    assert used == [[10, 10], [10, 20]]
    assert [*after[0], *after[1]] == ["a", "b"]


def test_the_peak_has_the_larger_of_each_two_figures() -> None:
    early = NodeUsage(5, 10, (GpuUsage(1, 8, 0.5), GpuUsage(7, 8)))
    late = NodeUsage(3, 10, (GpuUsage(2, 8, 0.25),))
    peak = NodeUsage(5, 10, (GpuUsage(2, 8, 0.5), GpuUsage(7, 8)))
    assert early.peak(late) == late.peak(early) == peak
    assert NodeUsage.from_json(json.loads(json.dumps(peak.to_json()))) == peak
