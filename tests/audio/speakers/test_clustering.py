"""Voice vectors are grouped into speakers, in seconds for hours of speech."""

import numpy as np
import pytest
from curator_audio.speakers.clustering import cluster_voices


def test_clusters_are_numbered_in_order_of_appearance() -> None:
    vectors = np.array([[1, 0], [0, 1], [0.99, 0.1], [0.1, 0.99], [-1, 0]], np.float32)
    assert cluster_voices(vectors, np.ones(5), 0.9, 8) == [0, 1, 0, 1, 2]
    assert len(set(cluster_voices(vectors, np.ones(5), 0.9, 2))) == 2
    assert cluster_voices(vectors[:1], np.ones(1), 0.9, 8) == [0]


def voices_of(people: int, pieces: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    vectors = random.standard_normal((people, 64))[random.integers(people, size=pieces)]
    vectors += random.uniform(0.3, 1.5) * random.standard_normal(vectors.shape)
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def plain_clusters(vectors: np.ndarray, threshold: float, most: int) -> list[int]:
    """Compare all pairs again after each step."""
    sums, members = vectors.astype(np.float64), [[place] for place in range(len(vectors))]
    while len(members) > 1:
        units = sums / np.linalg.norm(sums, axis=1, keepdims=True)
        alike = units @ units.T
        np.fill_diagonal(alike, -2)
        one, other = sorted(divmod(int(alike.argmax()), len(members)))
        if alike[one, other] < threshold and len(members) <= most:
            break
        sums[one] += sums[other]
        sums = np.delete(sums, other, axis=0)
        members[one] += members.pop(other)
    ordered = sorted(members, key=min)
    return [
        next(n for n, group in enumerate(ordered) if place in group)
        for place in range(len(vectors))
    ]


@pytest.mark.parametrize(("threshold", "most"), [(0.65, 8), (0.3, 50), (0.95, 3)])
def test_clusters_equal_those_of_a_search_over_all_pairs(threshold: float, most: int) -> None:
    for seed in range(6):
        vectors = voices_of(1 + seed, 20 * seed + 1, seed)
        found = cluster_voices(vectors, np.ones(len(vectors)), threshold, most)
        assert found == plain_clusters(vectors, threshold, most)


@pytest.mark.timeout(60)
def test_clustering_hours_of_speech_takes_seconds() -> None:
    """Two hours: comparing all pairs in each step took minutes."""
    vectors = voices_of(5, 4_000)
    assert len(set(cluster_voices(vectors, np.ones(4_000), 0.65, 8))) <= 8
