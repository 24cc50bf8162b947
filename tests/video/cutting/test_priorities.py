"""No encoder may leave real-time threads: all else on the machine would wait for them."""

import os
import sys
from pathlib import Path

import pytest
from curator_core.testing import run_stage
from curator_video.clips import Clip, Span
from curator_video.cutting import encoding
from curator_video.cutting.encoders import Encoder, known_encoders
from curator_video.cutting.priorities import as_before
from curator_video.cutting.stages import ClipCutter
from curator_video.probing import probe
from curator_video.sources import VideoSource

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such threads")


def policies() -> set[int]:
    return {os.sched_getscheduler(int(thread)) for thread in os.listdir("/proc/self/task")}


@pytest.mark.parametrize("name", ["libx264", "libsvtav1", "libvpx-vp9"])
def test_encoders_leave_threads_as_they_were(
    name: str, harbour: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name not in known_encoders():
        pytest.skip(f"this av has no {name}")
    before, seen = policies(), []
    whole = encoding._whole

    def watched(*arguments: object) -> object:
        for shown in whole(*arguments):  # type: ignore[arg-type]
            yield shown
            seen.append(policies())

    monkeypatch.setattr(encoding, "_whole", watched)
    source = VideoSource(str(harbour))
    run_stage(ClipCutter(encoder=name), Clip(Span(source, probe(source), 0.0, 1.0)))
    assert len(seen) == 25
    assert set().union(*seen) == policies() == before
    Encoder(name).refuse_unusable()
    assert policies() == before


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may do so")
def test_what_becomes_real_time_within_comes_out_as_before() -> None:
    before = policies()
    with as_before():
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        assert os.SCHED_FIFO in policies()
    assert policies() == before
