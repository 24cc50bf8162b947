"""Samples are encoded as WAV, FLAC and Opus, without starting threads for each file."""

import io
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from curator_audio import SPEECH, encoding
from curator_audio.container import UndecodableError
from curator_audio.decoding import decode
from curator_audio.encoding import BlockEncoder, FileFormat, encode, pinned_to_one_core
from curator_audio.waveform import NATIVE, Waveform
from sounds import tone, voice

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="cores are counted on Linux")


@pytest.mark.parametrize("channels", [1, 2, 6])
@pytest.mark.parametrize("kind", ["flac", "wav"])
def test_encoded_samples_are_decoded_again(kind: str, channels: int) -> None:
    samples = np.vstack([tone(1.01, level=0.1 * (n + 1)) for n in range(channels)])
    data = encode(Waveform(samples, 16_000), kind)  # type: ignore[arg-type]
    assert data == encode(Waveform(samples, 16_000), kind)  # type: ignore[arg-type]
    np.testing.assert_allclose(decode(data, NATIVE).samples, samples, atol=5e-5)


@pytest.mark.parametrize("kind", get_args(FileFormat))
def test_a_file_does_not_depend_on_its_blocks(kind: FileFormat) -> None:
    samples = np.vstack([voice(3), tone(3)])
    file = io.BytesIO()
    encoder = BlockEncoder(file, kind)
    for piece in np.split(samples, [1, 700, 30_000], axis=1):
        encoder.write(Waveform(piece, 16_000))
    encoder.close()
    assert file.getvalue() == encode(Waveform(samples, 16_000), kind)
    assert encoder.seconds == 3.0


def test_a_wav_file_over_4_gib_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curator_audio.encoding._LARGEST_WAV", 30_000)
    with pytest.raises(UndecodableError, match="flac"):
        encode(Waveform(tone(1), 16_000), "wav")


def test_opus_is_similar_and_one_sample_makes_a_file() -> None:
    heard = decode(encode(Waveform(tone(2), 16_000), "opus"), SPEECH)
    assert abs(heard.seconds - 2) < 0.01
    assert int(np.abs(np.fft.rfft(heard.samples[0, 8_000:24_000])).argmax()) == 440
    one = np.full((1, 1), 0.5, np.float32)
    assert decode(encode(Waveform(one, 16_000), "flac"), NATIVE).samples.shape == (1, 1)


@on_linux
def test_a_thread_is_pinned_to_its_core_and_released() -> None:
    before = os.sched_getaffinity(0)
    with pinned_to_one_core():
        (here,) = os.sched_getaffinity(0)
    assert here in before
    with pytest.raises(ValueError, match="boom"), pinned_to_one_core():
        raise ValueError("boom")
    assert os.sched_getaffinity(0) == before


@on_linux
def test_without_a_known_core_nothing_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoding, "_sched_getcpu", lambda: None)
    before = os.sched_getaffinity(0)
    with pinned_to_one_core():
        assert os.sched_getaffinity(0) == before


@on_linux
@pytest.mark.parametrize("kind", ["flac", "opus"])
def test_encoding_a_file_starts_no_threads(kind: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core FFmpeg starts none anyway")
    seen: set[str] = set()
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            seen.update(_threads())

    wave = Waveform(np.zeros((1, 16_000 * 6), np.float32), 16_000)
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
