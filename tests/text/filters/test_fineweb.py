import pytest
from curator_text import DocumentText, FineWebQualityFilter

LONG = "this line has more than thirty characters"


def page(ending: int, others: int, line: str = LONG) -> str:
    """Return different lines; the first ones end with a full stop."""
    rows = [f"{line} {place:02d}" for place in range(ending + others)]
    return "\n".join(f"{row}." if place < ending else row for place, row in enumerate(rows))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (page(3, 22), None),  # 3 of 25 are .12
        (page(3, 23), "line_punct_ratio"),
        (page(0, 5), "line_punct_ratio"),
        ("\n".join(f"{LONG} {place}।" for place in range(5)), None),  # a mark of another script
        (page(3, 22).replace("\n", "\n \n"), None),  # blank lines do not count
        (page(33, 0) + "\n" + page(67, 0, "three short words"), None),
        (page(32, 0) + "\n" + page(68, 0, "three short words"), "short_line_ratio"),
        (page(9, 0) + "\n" + page(1, 0), "char_dup_ratio"),
        (page(3, 0, "oneverylongwordofthirtycharacters"), "list_ratio"),  # 2 of 6
        (page(3, 0, "oneverylongwordofthirtycharacters another"), None),  # 2 of 9
    ],
)
def test_each_rule_has_its_reason(text: str, reason: str | None) -> None:
    assert FineWebQualityFilter().broken_rule(DocumentText(text)) == reason


def test_texts_without_end_marks_can_be_kept() -> None:
    rules = FineWebQualityFilter(line_punct_exclude_zero=True)
    assert rules.broken_rule(DocumentText(page(0, 9))) is None
    assert rules.broken_rule(DocumentText(page(1, 9))) == "line_punct_ratio"


def test_end_marks_can_be_replaced() -> None:
    text = DocumentText("\n".join(f"{LONG} {place} --" for place in range(5)))
    assert FineWebQualityFilter().broken_rule(text) == "line_punct_ratio"
    assert FineWebQualityFilter(stop_chars=["--", "."]).broken_rule(text) is None


def test_repeated_lines_count_by_their_characters() -> None:
    text = DocumentText(page(9, 0) + "\n" + page(1, 0))
    assert FineWebQualityFilter(char_duplicates_ratio=0.2).broken_rule(text) is None  # 45 of 450


@pytest.mark.parametrize("ratio", [0.0, 0.25, 1 / 3, 0.5])
@pytest.mark.parametrize("words", range(4, 16))
def test_line_breaks_are_relative_to_words(ratio: float, words: int) -> None:
    rows = ["wide" * 10] * 3 + ["wide" * 10 + " word" * (words - 4)]
    text = DocumentText(".\n".join(rows) + ".")
    rules = FineWebQualityFilter(char_duplicates_ratio=1, new_line_ratio=ratio)
    assert rules.broken_rule(text) == ("list_ratio" if 3 / words > ratio else None)


def test_kind_of_words_can_be_chosen() -> None:
    text = DocumentText("\n".join("你好世界" * 10 + f"{place}。" for place in range(9)))
    assert FineWebQualityFilter().broken_rule(text) == "list_ratio"
    assert FineWebQualityFilter(words="cjk-aware").broken_rule(text) is None
