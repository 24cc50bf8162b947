"""FFmpeg starts no threads of its own for each file that is written."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from curator_audio import cores
from curator_audio.cores import one_core
from curator_audio.encoding import encode
from curator_audio.waveforms import Waveform

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="cores are counted on Linux")


def test_a_thread_stays_where_it_is_and_is_free_again() -> None:
    before = os.sched_getaffinity(0)
    with one_core():
        (here,) = os.sched_getaffinity(0)
    assert here in before
    with pytest.raises(ValueError, match="boom"), one_core():
        raise ValueError("boom")
    assert os.sched_getaffinity(0) == before


def test_where_nobody_says_which_core_it_is_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cores, "_asking", lambda: None)
    before = os.sched_getaffinity(0)
    with one_core():
        assert os.sched_getaffinity(0) == before


@pytest.mark.parametrize("kind", ["flac", "opus"])
def test_no_threads_are_started_for_a_file(kind: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core FFmpeg starts none anyway")
    seen: set[str] = set()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            seen.update(_threads())

    wave = Waveform(np.zeros((1, 16_000 * 30), np.float32), 16_000)
    encode(wave, kind)
    watcher = threading.Thread(target=watch)
    watcher.start()
    before = set(_threads())
    for _ in range(20):
        encode(wave, kind)
    is_over.set()
    watcher.join()
    assert seen <= before


def _threads() -> Iterator[str]:
    return (path.name for path in Path("/proc/self/task").iterdir())
