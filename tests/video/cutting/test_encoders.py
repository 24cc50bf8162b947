"""Encoders must not leave real-time threads: they would starve everything else."""

import os
import sys
from pathlib import Path

import pytest
from curator_core.testing import run_stage
from curator_video.cutting import exact
from curator_video.cutting.cutter import ClipCutter
from curator_video.cutting.encoders import VideoEncoder, available_encoders, keep_thread_priorities
from curator_video.probing import probe
from curator_video.source import VideoSource
from curator_video.tasks import Clip, ClipSpan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such threads")


def policies() -> set[int]:
    return {os.sched_getscheduler(int(thread)) for thread in os.listdir("/proc/self/task")}


@pytest.mark.parametrize("name", ["libx264", "libsvtav1", "libvpx-vp9"])
def test_encoders_leave_no_real_time_threads(
    name: str, harbour: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name not in available_encoders():
        pytest.skip(f"this av has no {name}")
    before, seen = policies(), []
    whole = exact._required_frames

    def measure_frames(*arguments: object) -> object:
        for shown in whole(*arguments):  # type: ignore[arg-type]
            yield shown
            seen.append(policies())

    monkeypatch.setattr(exact, "_required_frames", measure_frames)
    source = VideoSource(str(harbour))
    run_stage(ClipCutter(encoder=name), Clip(ClipSpan(source, probe(source), 0.0, 1.0)))
    assert len(seen) == 25
    assert set().union(*seen) == policies() == before
    VideoEncoder(name).check_starts()
    assert policies() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may do so")
def test_real_time_threads_are_reset() -> None:
    before = policies()
    with keep_thread_priorities():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        assert os.SCHED_FIFO in policies()
    assert policies() == before
