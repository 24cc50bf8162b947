"""Units, window hashes and anchors agree with plain implementations."""

from itertools import chain
from typing import Any

import numpy as np
from curator_dedup.passages import rolling_hash, windows
from curator_dedup.passages.rolling_hash import (
    hashes_of_stretches,
    hashes_of_windows,
    sliding_minimum,
)
from curator_dedup.passages.units import find_units
from curator_dedup.passages.windows import PassageRule, chunk_texts, find_windows
from hypothesis import given, settings
from hypothesis import strategies as st

TEXTS = st.lists(
    st.text(alphabet='aB1 \n.!?"\u3002\u00a0\U0001f600e\u0301', max_size=30), max_size=6
)


def found(texts: list[str | None], unit: Any, *, normalize: bool = False) -> list[list[str]]:
    units = find_units(texts, unit, normalize=normalize)
    joined = "".join(text or "" for text in texts)
    per_text: list[list[str]] = [[] for _ in texts]
    for owner, start, end in zip(units.texts, units.starts, units.ends, strict=True):
        assert units.edges[owner] <= start < end <= units.edges[owner + 1]
        per_text[owner].append(joined[start:end])
    return per_text


@given(TEXTS)
def test_words_are_those_of_str_split(texts: list[str]) -> None:
    assert found(texts, "words") == [text.split() for text in texts]


@given(TEXTS)
def test_characters_exclude_spaces(texts: list[str]) -> None:
    assert found(texts, "characters") == [[c for c in text if not c.isspace()] for text in texts]


@given(TEXTS)
def test_lines_are_stripped_and_blank_ones_skipped(texts: list[str]) -> None:
    wanted = [[line.strip() for line in text.split("\n") if line.strip()] for text in texts]
    assert found(texts, "lines") == wanted


def test_ends_of_sentences() -> None:
    text = 'A 1.5 b. "C?" d (e!) f... g\nh i.e. j\u3002k'
    wanted = ["A 1.5 b.", '"C?"', "d (e!)", "f...", "g", "h i.e.", "j\u3002", "k"]
    assert found([text], "sentences") == [wanted]


def test_normalized_units_ignore_case_and_punctuation() -> None:
    texts: list[str | None] = ["Ab, c\u2014D", "aB c d!", None, "--", "", "abcd", "ab cd \u00c9"]
    lines = find_units(texts, "lines", normalize=True)
    assert lines.texts.tolist() == [0, 1, 5, 6]
    assert lines.hashes[0] == lines.hashes[1] == lines.hashes[2] != lines.hashes[3]
    assert len(set(find_units(texts, "lines", normalize=False).hashes.tolist())) == 5
    small, large = (find_units([text], "words", normalize=True) for text in ("\u00e9", "\u00c9"))
    assert small.hashes == large.hashes


@settings(max_examples=60)
@given(TEXTS, st.sampled_from(["words", "characters", "lines"]), st.sampled_from([3, 1 << 16]))
def test_hashes_are_equal_for_equal_units_only(texts: list[str], unit: Any, step: int) -> None:
    before = rolling_hash._STEP
    rolling_hash._STEP = step
    try:
        units = find_units(texts, unit, normalize=False)
    finally:
        rolling_hash._STEP = before
    single = list(chain.from_iterable(found(list(texts), unit)))
    named = dict(zip(single, units.hashes.tolist(), strict=True))
    assert [named[one] for one in single] == units.hashes.tolist()
    assert len(set(named.values())) == len(named)


@given(st.lists(st.integers(0, 2), max_size=60), st.integers(1, 12), st.sampled_from([1, 5, 99]))
def test_equal_windows_have_equal_hashes(values: list[int], size: int, step: int) -> None:
    before = rolling_hash._STEP
    rolling_hash._STEP = step
    try:
        hashes = hashes_of_windows(np.array(values, np.uint64) + np.uint64(7), size)
    finally:
        rolling_hash._STEP = before
    wanted = [tuple(values[at : at + size]) for at in range(len(values) - size + 1)]
    named = dict(zip(wanted, hashes.tolist(), strict=True))
    assert [named[one] for one in wanted] == hashes.tolist()
    assert len(set(named.values())) == len(named)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=50), st.integers(1, 9))
def test_smallest_value_of_each_window(values: list[int], size: int) -> None:
    array = np.array(values, np.uint64)
    wanted = [min(values[at : at + size]) for at in range(len(values) - size + 1)]
    assert sliding_minimum(array, size).tolist() == wanted


@given(st.lists(st.text(alphabet="ab ", max_size=40), max_size=5), st.sampled_from([8, 11]))
def test_every_repeated_window_has_a_repeated_anchor(texts: list[str], size: int) -> None:
    """It is therefore safe to compare only windows whose anchor occurs twice."""
    made = find_windows(texts, PassageRule("characters", size))
    if not len(made.firsts):
        return
    anchors = made.anchors()
    places = anchors.by_position(made.firsts).tolist()
    hashes = [tuple(pair) for pair in made.hashes().tolist()]
    for name, anchor in zip(hashes, anchors.values().tolist(), strict=True):
        assert places.count(anchor) >= hashes.count(name) > 0


def test_windows_much_longer_than_a_step() -> None:
    values = np.arange(300_000) % 251
    starts, ends = np.array([0, 251 * 400, 299_000]), np.array([251 * 400, 251 * 800, 300_000])
    first, second, third = hashes_of_stretches(values, starts, ends).tolist()
    assert first == second != third


def test_chunks_hold_all_texts_in_order() -> None:
    texts = [None, "", "x" * windows._CHARACTERS, "y" * (windows._CHARACTERS + 1), "z", None]
    assert [(c.start, c.stop) for c in chunk_texts(texts)] == [(0, 3), (3, 4), (4, 6)]
    assert list(chunk_texts([])) == []
