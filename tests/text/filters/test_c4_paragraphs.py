import pytest
from curator_text import C4ParagraphFilter, DocumentText

LONG = "x" * 200


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (f"{LONG}\n{LONG}\nshort\n{LONG}", True),
        (f"{LONG}\n{LONG}\n{LONG[1:]}", False),
        (f"{LONG}\n{LONG}\r{LONG}", False),
        (LONG * 9, False),
    ],
)
def test_three_long_lines_are_required(text: str, stays: bool) -> None:
    assert C4ParagraphFilter().broken_rule(DocumentText(text)) == (
        None if stays else "< 3 paragraphs"
    )


def test_number_and_length_of_lines_can_be_chosen() -> None:
    assert C4ParagraphFilter(1, 5).broken_rule(DocumentText("short")) is None
    assert C4ParagraphFilter(2, 5).broken_rule(DocumentText("short")) == "< 2 paragraphs"
