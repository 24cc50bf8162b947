"""Prints stay nearly the same through codecs, filters and levels, and differ between sounds."""

import numpy as np
import pytest
from curator_audio.decoding import decode
from curator_audio.dedup.fingerprints import (
    RATE,
    FingerprintBuilder,
    FingerprintFrames,
    find_anchors,
    fingerprint_distance,
)
from curator_audio.waveform import AudioFormat
from sounds import Samples, chatter, encoded, wav


def frames(samples: Samples, block: int = 1 << 30) -> FingerprintFrames:
    builder = FingerprintBuilder()
    for first in range(0, samples.shape[1], block):
        builder.add(samples[0, first : first + block])
    return builder.frames()


def decoded(data: bytes) -> Samples:
    return decode(data, AudioFormat(RATE)).samples


ORIGINAL = decoded(wav(chatter(6.0, 1)))
COPIES = {
    "mp3": lambda: decoded(encoded(chatter(6.0, 1), 16_000, "mp3")),
    "opus": lambda: decoded(encoded(chatter(6.0, 1), 16_000, "opus")),
    "quieter": lambda: ORIGINAL * np.float32(0.05),
    "filtered": lambda: np.diff(ORIGINAL, prepend=0).astype(np.float32),
    "shifted": lambda: ORIGINAL[:, 1_057:],
    "with silence before": lambda: np.pad(ORIGINAL, ((0, 0), (5_000, 0))),
}


@pytest.mark.parametrize("copy", COPIES)
def test_copies_have_similar_prints_and_share_keys(copy: str) -> None:
    one, other = frames(ORIGINAL), frames(COPIES[copy]())
    assert fingerprint_distance(one.prints, other.prints, 0.8) < 0.2
    assert np.isin(find_anchors(one).keys, find_anchors(other).keys).any(axis=1).sum() >= 2


def test_unrelated_recordings_have_distant_prints() -> None:
    prints = [frames(decoded(wav(chatter(6.0, seed)))).prints for seed in range(5)]
    nearest = min(
        fingerprint_distance(one, other, 0.8)
        for one in prints
        for other in prints
        if one is not other
    )
    assert nearest > 0.33


def test_prints_do_not_depend_on_blocks() -> None:
    whole = frames(ORIGINAL)
    assert len(whole.prints) == (ORIGINAL.shape[1] - 2048) // 128 + 1 - 8
    for block in (977, 40_000):
        assert np.array_equal(frames(ORIGINAL, block).prints, whole.prints)


def test_short_and_silent_recordings_have_no_anchors() -> None:
    assert not len(frames(ORIGINAL[:, :2_500]).prints)
    for samples in (ORIGINAL[:, :0], ORIGINAL[:, :3_100], 0 * ORIGINAL):
        assert not len(find_anchors(frames(samples)).keys)


def test_long_recordings_are_aligned_by_equal_prints() -> None:
    random = np.random.default_rng(0)
    one = random.integers(0, 1 << 32, 9_000, np.uint32)
    other = np.concatenate((random.integers(0, 1 << 32, 700, np.uint32), one[:-200]))
    assert fingerprint_distance(one, other, 0.8) == 0.0
    assert fingerprint_distance(one, other, 0.99) == 1.0
    assert fingerprint_distance(one, random.integers(0, 1 << 32, 9_000, np.uint32), 0.8) > 0.4


def test_the_overlap_of_an_excerpt_is_a_share_of_the_shorter() -> None:
    one = frames(ORIGINAL).prints
    assert fingerprint_distance(one, one[100:200], 0.8) == 1.0
    assert fingerprint_distance(one, one[100:200], 0.8, excerpts=True) == 0.0
    assert fingerprint_distance(one, one[:0], 0.8, excerpts=True) == 1.0
