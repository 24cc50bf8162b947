"""Differences: words that were deleted, inserted, or stayed."""

import pytest
from curator_core.preview.differences import Piece, compare_words, middle_shortened, shorten_equal
from hypothesis import given
from hypothesis import strategies as st


def test_words_are_compared() -> None:
    assert compare_words("the cat sat", "the dog sat") == [
        Piece("the "),
        Piece("cat", "deleted"),
        Piece("dog", "inserted"),
        Piece(" sat"),
    ]


@given(st.text("ab \n", max_size=60), st.text("ab \n", max_size=60))
def test_the_pieces_are_both_texts(before: str, after: str) -> None:
    pieces = compare_words(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "inserted") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "deleted") == after


def test_long_texts_are_compared_without_long_lists_of_words() -> None:
    before = " ".join(f"a{n}" for n in range(20_000))
    after = " ".join(f"b{n}" for n in range(20_000))
    pieces = compare_words(f"same {before}", f"same {after}")
    assert pieces[0] == Piece("same ")
    assert [piece.kind for piece in pieces[1:]] == ["deleted", "inserted"]


@pytest.mark.parametrize("length", [10, 1000, 1_000_000])
def test_shortened_texts_keep_both_ends(length: int) -> None:
    text = f"BEGIN{'x' * length}END"
    shown = middle_shortened(text, 60)
    assert len(shown) < 100
    assert shown.startswith("BEGIN")
    assert shown.endswith("END")


def test_changes_stay_when_equal_text_is_cut() -> None:
    words = "word " * 500
    pieces = shorten_equal(compare_words(f"{words}old {words}", f"{words}new {words}"), 20)
    shown = "".join(piece.text for piece in pieces)
    assert len(shown) < 80
    assert {"old", "new"} <= {piece.text for piece in pieces}
