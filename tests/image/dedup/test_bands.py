"""Near hashes always share a key."""

import numpy as np
import pyarrow as pa
import pytest
from curator_core import InputError
from curator_dedup.columns import words_in
from curator_dedup.hamming import distance_table, distances, pairs_within
from curator_image.dedup.bands import MAX_KEYS, Bands, choose_bands
from hypothesis import given, settings
from hypothesis import strategies as st


def hashes_with_copies(seed: int, bits: int, threshold: int, count: int) -> np.ndarray:
    """Return hashes; the second half are copies of the first with a few bits flipped."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 1 << 64, (count, bits // 64), np.uint64, endpoint=False)
    half = count // 2
    hashes[half:] = hashes[: count - half]
    for row in range(half, count):
        for bit in rng.choice(bits, rng.integers(0, threshold + 3), replace=False).tolist():
            hashes[row, bit // 64] ^= np.uint64(1 << (bit % 64))
    return hashes


def by_comparing_all(hashes: np.ndarray, threshold: int) -> set[tuple[int, int]]:
    near = np.triu(distance_table(hashes, hashes) <= threshold, 1)
    return set(zip(*(side.tolist() for side in np.nonzero(near)), strict=True))


def found(hashes: np.ndarray, threshold: int) -> set[tuple[int, int]]:
    """Return the pairs that the workflow finds: near rows among those that share a key."""
    bands = choose_bands(64 * hashes.shape[1], threshold, len(hashes))
    keys = bands.keys(hashes)
    pairs = set()
    for band in range(bands.count):
        for ones, others in pairs_within(keys[:, band], hashes, threshold):
            pairs |= {(min(p), max(p)) for p in zip(ones.tolist(), others.tolist(), strict=True)}
    return pairs


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    bits=st.sampled_from([64, 128, 256]),
    threshold=st.integers(0, 20),
    count=st.integers(1, 300),
)
def test_all_near_pairs_and_no_others_are_found(
    seed: int, bits: int, threshold: int, count: int
) -> None:
    hashes = np.unique(hashes_with_copies(seed, bits, threshold, count), axis=0)
    assert found(hashes, threshold) == by_comparing_all(hashes, threshold)


@pytest.mark.parametrize("parts_per_key", [1, 2, 3])
def test_near_hashes_share_a_key_however_many_parts_make_one(parts_per_key: int) -> None:
    bands = Bands(64, 5, parts_per_key)
    hashes = hashes_with_copies(1, 64, 3, 400)
    keys = bands.keys(hashes)
    near = distances(hashes[:200], hashes[200:]) <= 5
    assert near.any()
    assert (keys[:200] == keys[200:]).any(axis=1)[near].all()


def test_keys_of_different_parts_never_meet() -> None:
    keys = Bands(64, 4).keys(np.zeros((1, 1), np.uint64))
    assert len(np.unique(keys)) == 5


def test_a_large_group_is_compared_in_squares() -> None:
    hashes = np.arange(5000, dtype=np.uint64)[:, None] << np.uint64(40)
    expected = by_comparing_all(hashes, 1)
    assert found(hashes, 1) == expected


def test_more_hashes_need_longer_keys() -> None:
    few, many = choose_bands(64, 4, 10_000), choose_bands(64, 4, 10**8)
    assert few.parts_per_key < many.parts_per_key
    assert many.count <= MAX_KEYS
    assert choose_bands(256, 31, 10**9).count <= MAX_KEYS


def test_a_sliced_column_gives_its_own_hashes() -> None:
    column = pa.array([b"\0" * 8, b"\1" * 8, b"\2" * 8], pa.binary(8))
    assert words_in(column.slice(1, 1)).tolist() == [[0x0101010101010101]]
    assert words_in(pa.chunked_array([column, column])).shape == (6, 1)


def test_a_value_that_is_not_a_hash_is_refused() -> None:
    with pytest.raises(InputError, match="8, 16 or 32 bytes"):
        words_in(pa.array(["ab"]))
