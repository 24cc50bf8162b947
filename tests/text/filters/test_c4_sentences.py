import pytest
from curator_text.filters.c4 import count_sentences, split_sentences
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two!  Three", ["One. ", "Two!  ", "Three"]),
        ('He said "so." And so?) it was', ['He said "so." ', "And so?) ", "it was"]),
        ("Version 2.5 of a.b.c is out...", ["Version 2.5 of a.b.c is out..."]),
        ("好。好\uff01「好。」好", ["好。", "好\uff01", "「好。」", "好"]),
        ("", [""]),
    ],
)
def test_sentences_end_with_a_mark_before_white_space(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


@given(text=st.text(st.sampled_from("ab.!?。 \n\"')")), most=st.integers(0, 9))
def test_counting_agrees_with_splitting(text: str, most: int) -> None:
    assert "".join(split_sentences(text)) == text
    assert count_sentences(text, most) == min(most, len(split_sentences(text)))
