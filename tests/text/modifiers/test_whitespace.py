import pytest
from curator_core import DocumentBatch
from curator_core.testing import run_stage
from curator_text import NewlineNormalizer, TextModifier, WhitespaceNormalizer


def modified(stage: TextModifier, text: str) -> str:
    [after] = run_stage(stage, DocumentBatch.from_pylist([{"text": text}]))
    return after.to_pylist()[0]["text"]  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\r\nb\rc\nd", "a\nb\nc\nd"),
        ("a\n\nb", "a\n\nb"),
        ("a\n\n\n\n\nb", "a\n\nb"),
        ("a\r\n\r\n\r\nb", "a\n\nb"),
    ],
)
def test_newlines_are_normalized(text: str, clean: str) -> None:
    assert modified(NewlineNormalizer(), text) == clean


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a  b\t\tc", "a b c"),
        ("a\u00a0\u2003b\u200bc\ufeff", "a b c"),
        ("  a  \n   b  \n\n c ", "a\nb\n\nc"),
        (" \n ", ""),
        ("好\u3000的", "好 的"),
    ],
)
def test_white_space_is_normalized(text: str, clean: str) -> None:
    assert modified(WhitespaceNormalizer(), text) == clean
