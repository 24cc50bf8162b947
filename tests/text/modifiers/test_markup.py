import re

import pytest
from curator_core import DocumentBatch
from curator_core.testing import run_stage
from curator_text import MarkdownRemover, QuotationRemover, TextModifier, UrlRemover
from hypothesis import given
from hypothesis import strategies as st


def modified(stage: TextModifier, text: str) -> str:
    [after] = run_stage(stage, DocumentBatch.from_pylist([{"text": text}]))
    return after.to_pylist()[0]["text"]  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("see https://a.example/x?y=1 now", "see  now"),
        ("HTTP://A.EXAMPLE", ""),
        ("www.a.example\nnext", "\nnext"),
        ("at http://a.example\u3000here", "at \u3000here"),
        ("ftp://a.example http:/ www.", "ftp://a.example http:/ www."),
    ],
)
def test_urls_are_removed(text: str, after: str) -> None:
    assert modified(UrlRemover(), text) == after


@given(st.text(st.sampled_from("htps:/w.a \t\n\x1c\x85\u00a0\u2003\u2028\u3000X"), max_size=40))
def test_url_ends_at_any_white_space(text: str) -> None:
    expected = re.sub(r"https?://\S+|www\.\S+", "", text, flags=re.IGNORECASE)
    assert modified(UrlRemover(), text) == expected


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("**bold** and *so* and _so_", "bold and so and so"),
        ("[here](https://a.example) it is", "https://a.example it is"),
        ("a * b\nc * d", "a * b\nc * d"),
        ("snake_case_name", "snakecasename"),
        ("**half", "half"),
    ],
)
def test_markdown_is_removed(text: str, after: str) -> None:
    assert modified(MarkdownRemover(), text) == after


@given(st.text(st.sampled_from("*_[]()a \n"), max_size=40))
def test_markdown_is_removed_line_by_line(text: str) -> None:
    lines = text.split("\n")
    for pattern in (r"\*\*(.*?)\*\*", r"\*(.*?)\*", r"_(.*?)_", r"\[.*?\]\((.*?)\)"):
        lines = [re.sub(pattern, r"\1", line) for line in lines]
    assert modified(MarkdownRemover(), text) == "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ('"whole"', "whole"),
        ('"a"', "a"),
        ('""', '""'),
        ('"', '"'),
        ('"open', '"open'),
        ('"first line\nsecond"', "first line\nsecond"),
        ('"first"\nand "second"', '"first"\nand "second"'),
        (' "whole"', ' "whole"'),
        ('"a" and "b"', 'a" and "b'),
        ('"\nx"', '"\nx"'),
    ],
)
def test_quotation_marks_are_removed(text: str, after: str) -> None:
    assert modified(QuotationRemover(), text) == after
