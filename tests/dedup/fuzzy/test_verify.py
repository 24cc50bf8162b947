"""Clusters are split by exact similarity, however the leaders are found."""

import random

import numpy as np
import pytest
from curator_dedup.fuzzy import verify
from curator_dedup.fuzzy.minhash import ENGINE_VARIABLE
from curator_dedup.fuzzy.shingles import Shingling
from curator_dedup.fuzzy.verify import (
    MAX_LEADERS,
    ShingleSet,
    SplitClusters,
    jaccard,
    shingle_sets,
    shingles_digest,
    split_clusters,
)


def divided(sets: list[ShingleSet], threshold: float, earlier: int = 0) -> SplitClusters:
    """Split one cluster whose first documents are from earlier crawls."""
    digests = np.array([shingles_digest(one) for one in sets], np.uint64)
    is_earlier = np.arange(len(sets)) < earlier
    return split_clusters(digests, sets, np.zeros(len(sets), np.uint64), is_earlier, threshold)


def plainly(sets: list[ShingleSet], threshold: float) -> list[int]:
    """Assign each document to the first leader that is similar enough, comparing all of them."""
    leaders: list[int] = []
    groups = []
    for place, one in enumerate(sets):
        similar = (lead for lead in leaders if jaccard(one, sets[lead]) >= threshold)
        group = next(similar, place)
        leaders += [place] if group == place else []
        groups.append(group)
    return groups


def family(seed: int, documents: int = 60) -> list[ShingleSet]:
    """Return documents that share much with one of a few others, and a little with all."""
    dice = random.Random(seed)
    common = [dice.getrandbits(32) for _ in range(dice.randint(1, 60))]
    bases = [[dice.getrandbits(32) for _ in range(dice.randint(5, 80))] for _ in range(8)]
    sets = []
    for _ in range(documents):
        base = dice.choice(bases)
        kept = [one for one in base if dice.random() < dice.choice([0.6, 0.8, 0.95, 1])]
        sets.append(np.array(sorted({*common, *kept}), np.uint32))
    return sets


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("seed", range(5))
def test_large_clusters_are_split_as_by_comparing_all_pairs(seed: int, threshold: float) -> None:
    sets = family(seed)
    found = divided(sets, threshold)
    assert found.groups.tolist() == plainly(sets, threshold)
    assert 0 <= found.rejected <= found.compared


def test_small_clusters_are_split_as_by_comparing_all_pairs() -> None:
    sets = family(9, documents=verify.FEW_DOCUMENTS - 2)
    assert divided(sets, 0.6).groups.tolist() == plainly(sets, 0.6)


@pytest.mark.parametrize("documents", [4, 40])
def test_earlier_documents_always_lead_a_group(documents: int) -> None:
    one = np.arange(100, dtype=np.uint32)
    sets = [one, one[:98], one[:96], *(one[: 95 - n] for n in range(documents))]
    groups = divided(sets, 0.5, earlier=3).groups.tolist()
    assert groups == [0, 1, 2, *[0] * documents]


def test_time_is_linear_in_the_size_of_a_cluster() -> None:
    """All documents share enough shingles to be compared, but no two are similar."""
    dice = random.Random(3)
    common = {dice.getrandbits(32) for _ in range(10)}
    sets = [np.array(sorted({*common, *(dice.getrandbits(32) for _ in range(10))}), np.uint32)
            for _ in range(1500)]  # fmt: skip
    found = divided(sets, 0.4)
    assert found.compared <= len(sets) * MAX_LEADERS
    assert found.groups.tolist() == list(range(len(sets)))


@pytest.mark.parametrize("engine", ["numpy", "auto"])
@pytest.mark.parametrize(
    "shingling", [Shingling(), Shingling(normalize=False), Shingling(None, 4), Shingling(2)]
)
def test_shingle_sets_are_those_of_the_texts(
    engine: str, shingling: Shingling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    texts = [
        "a b c d e f g",
        "",
        "one two",
        "a b c d e f g a b c d e f g",
        "é 语言 テ" * 700,
        "x" * 3000,
        "Ab, cd",
    ]
    for text, found in zip(texts, shingle_sets(shingling, texts), strict=True):
        shingles, _ = shingling.of([text])
        assert found.tolist() == sorted({int(one) >> 32 for one in shingles})
    assert shingle_sets(shingling, []) == []


@pytest.mark.parametrize(
    ("one", "other", "similarity"),
    [([1, 2, 3], [2, 3, 4], 0.5), ([1], [1], 1.0), ([1], [2], 0.0), ([], [1], 0.0), ([], [], 0.0)],
)
def test_jaccard_similarity(one: list[int], other: list[int], similarity: float) -> None:
    assert jaccard(np.array(one, np.uint32), np.array(other, np.uint32)) == similarity
