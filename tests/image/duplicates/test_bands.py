import numpy as np
import pyarrow as pa
import pytest
from curator_core import InputError
from curator_dedup.hashes.distances import distances, table_of_distances, words_of
from curator_dedup.hashes.neighbours import pairs_within
from curator_image.duplicates.bands import MOST_KEYS, Bands, bands_for
from hypothesis import given, settings
from hypothesis import strategies as st


def planted(seed: int, bits: int, threshold: int, count: int) -> np.ndarray:
    """Hashes of which the second half are the first with a few bits turned."""
    chance = np.random.default_rng(seed)
    hashes = chance.integers(0, 1 << 64, (count, bits // 64), np.uint64, endpoint=False)
    half = count // 2
    hashes[half:] = hashes[: count - half]
    for row in range(half, count):
        for bit in chance.choice(bits, chance.integers(0, threshold + 3), replace=False).tolist():
            hashes[row, bit // 64] ^= np.uint64(1 << (bit % 64))
    return hashes


def by_comparing_all(hashes: np.ndarray, threshold: int) -> set[tuple[int, int]]:
    near = np.triu(table_of_distances(hashes, hashes) <= threshold, 1)
    return set(zip(*(side.tolist() for side in np.nonzero(near)), strict=True))


def found(hashes: np.ndarray, threshold: int) -> set[tuple[int, int]]:
    """What the passes of a workflow find: of rows that share a key, those that are near."""
    bands = bands_for(64 * hashes.shape[1], threshold, len(hashes))
    keys = bands.keys(hashes)
    pairs = set()
    for place in range(bands.count):
        for ones, others in pairs_within(keys[:, place], hashes, threshold):
            pairs |= {(min(p), max(p)) for p in zip(ones.tolist(), others.tolist(), strict=True)}
    return pairs


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 1000),
    bits=st.sampled_from([64, 128, 256]),
    threshold=st.integers(0, 20),
    count=st.integers(1, 300),
)
def test_no_pair_is_missed_and_none_is_made_up(
    seed: int, bits: int, threshold: int, count: int
) -> None:
    hashes = np.unique(planted(seed, bits, threshold, count), axis=0)
    assert found(hashes, threshold) == by_comparing_all(hashes, threshold)


@pytest.mark.parametrize("together", [1, 2, 3])
def test_near_hashes_share_a_key_however_many_parts_make_one(together: int) -> None:
    bands = Bands(64, 5, together)
    hashes = planted(1, 64, 3, 400)
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


def test_more_hashes_ask_for_longer_keys() -> None:
    few, many = bands_for(64, 4, 10_000), bands_for(64, 4, 10**8)
    assert few.together < many.together
    assert many.count <= MOST_KEYS
    assert bands_for(256, 31, 10**9).count <= MOST_KEYS


def test_words_are_those_of_the_slice() -> None:
    column = pa.array([b"\0" * 8, b"\1" * 8, b"\2" * 8], pa.binary(8))
    assert words_of(column.slice(1, 1)).tolist() == [[0x0101010101010101]]
    assert words_of(pa.chunked_array([column, column])).shape == (6, 1)


def test_what_is_no_hash_is_refused() -> None:
    with pytest.raises(InputError, match="hashes are binary of 8, 16 or 32 bytes, but here is a "):
        words_of(pa.array(["ab"]))
