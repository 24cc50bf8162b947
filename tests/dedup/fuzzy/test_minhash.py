"""Signatures: which texts have equal ones, in both engines, and how often bands are shared."""

import math
import random

import numpy as np
import pytest
from curator_core.model.optional_dependencies import EngineError
from curator_dedup.fuzzy.minhash import ENGINE_VARIABLE, Permutations, Signing, is_compiled
from curator_dedup.fuzzy.shingles import Shingling
from hypothesis import given, settings
from hypothesis import strategies as st

TEXTS = st.lists(
    st.one_of(
        st.none(),
        st.text(max_size=60),
        st.text("aé \u0301中文あ。0123٣,.\n\u00adİß한글🙂ﬁ", max_size=120),
        st.integers(1, 3000).map(lambda size: "word 12 é " * size),
        st.integers(1, 3000).map(lambda size: "x" * size),
    ),
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(
    texts=TEXTS,
    words=st.integers(1, 7),
    characters=st.sampled_from([None, None, 1, 3, 24]),
    normalize=st.booleans(),
)
def test_both_engines_give_the_same_signatures(
    texts: list[str | None], words: int, characters: int | None, normalize: bool
) -> None:
    pytest.importorskip("numba")
    shingling = Shingling(None if characters else words, characters, normalize)
    signing = Signing(shingling, Permutations(3, 4, 5))
    found = []
    for engine in ("numpy", "compiled"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(ENGINE_VARIABLE, engine)
            keys, known = signing.keys(texts)
            found.append((known.tolist(), keys[known].tolist()))
    assert found[0] == found[1]
    assert found[0][0] == [count > 0 for count in shingling.of([t or "" for t in texts])[1]]


def same(one: str, other: str, **options: object) -> bool:
    signing = Signing(Shingling(**options), Permutations(2, 4, 0))  # type: ignore[arg-type]
    keys, _ = signing.keys([one, other])
    return bool((keys[0] == keys[1]).all())


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_texts_with_equal_signatures(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    assert same("It was the Café, of 2023!", "it was\nthe CAFE\u0301 of 7")
    assert not same("It was the Café", "it was the cafe", normalize=False)
    assert same("a  b\tc", "a b c", normalize=False)
    assert not same("it was the best of times", "it was the worst of times")
    assert same("two words", "Two, words")
    assert not same("two words", "words two")
    assert not same("그는 한글", "그는 학글")
    assert same("fullwidth \uff21\uff22\uff23", "fullwidth abc")
    assert not same("abcdef", "abcdeg", characters=5, words=None)
    assert same("soft\u00adhyphen", "softhyphen")
    assert not same("中文字很多很多", "中文字很多很少")


def test_texts_without_words_have_no_signature() -> None:
    signing = Signing(Shingling(), Permutations(2, 4, 0))
    _, known = signing.keys(["", None, " \n", "!?!", "a"])
    assert known.tolist() == [False, False, False, False, True]


def test_lone_surrogates_are_unknown_characters() -> None:
    signing = Signing(Shingling(), Permutations(2, 4, 0))
    _, known = signing.keys(["\ud800", "a \udc00 b"])
    assert known.tolist() == [False, True]


@pytest.mark.parametrize("engine", ["numpy", "compiled"])
def test_signature_of_a_very_large_text(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv(ENGINE_VARIABLE, engine)
    draw = random.Random(3)
    words = [f"w{draw.choice('abcdef')}{draw.choice('ghijkl')}" for _ in range(700_000)]
    signing = Signing(Shingling(), Permutations(14, 8, 42))
    keys, _ = signing.keys([" ".join(words), "\n".join(words), " ".join(words[:-9])])
    assert (keys[0] == keys[1]).all()
    assert (keys[0] == keys[2]).any()


PAIRS = 1500
BANDS, ROWS = 14, 8
Z_99 = 2.5758


@pytest.mark.parametrize("similarity", [0.5, 0.6, 0.7, 0.8, 0.9])
def test_bands_are_shared_as_often_as_predicted(similarity: float) -> None:
    """Pairs of documents share exactly this part of all their shingles."""
    union = 600
    shared = round(union * similarity)
    alone = (union - shared) // 2
    signing = Signing(Shingling(1, None, False), Permutations(BANDS, ROWS, 1))
    draw = random.Random(similarity)
    hits = 0
    texts = []
    for _ in range(PAIRS):
        words = [f"{draw.getrandbits(50):x}" for _ in range(shared + 2 * alone)]
        common = words[:shared]
        texts += [" ".join(common + words[shared : shared + alone]),
                  " ".join(common + words[shared + alone :])]  # fmt: skip
    keys, _ = signing.keys(texts)
    hits = int((keys[::2] == keys[1::2]).any(axis=1).sum())
    expected = 1 - (1 - similarity**ROWS) ** BANDS
    margin = Z_99 * math.sqrt(expected * (1 - expected) / PAIRS)
    assert abs(hits / PAIRS - expected) <= margin + 0.5 / PAIRS


def test_minhash_is_the_smallest_value_of_each_permutation() -> None:
    permutations = Permutations(2, 3, 9)
    values = np.random.default_rng(1).integers(0, 1 << 63, 5000, dtype=np.uint64)
    found = permutations.minhashes(values, np.array([1, 3000, 1999]))
    points = (values >> np.uint64(32)).astype(np.uint32)
    for place, (start, end) in enumerate([(0, 1), (1, 3001), (3001, 5000)]):
        wanted = [
            min((int(x) * int(a) + int(b)) % 2**32 for x in points[start:end])
            for a, b in zip(permutations.factors, permutations.shifts, strict=True)
        ]
        assert found[place].tolist() == wanted


def test_seed_changes_the_permutations() -> None:
    one, other = (Permutations(14, 8, seed).factors for seed in (1, 2))
    assert not (one == other).any()


def test_unknown_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENGINE_VARIABLE, "compild")
    with pytest.raises(EngineError, match=r"ENGINE is 'compild' .did you mean comp"):
        is_compiled()
    monkeypatch.setenv(ENGINE_VARIABLE, "numpy")
    assert not is_compiled()
