from itertools import cycle, islice

import pytest
from curator_text import DocumentText, GopherQualityFilter


def prose(words: int) -> str:
    """Return words with 17 letters and two stop words in every four."""
    return " ".join(islice(cycle(["the", "house", "and", "garden"]), words))


def lines(number: int, marked: int, mark: str, end: str = "") -> str:
    """Return lines of seven words, some with a mark at their beginning or end."""
    rows = [prose(7)] * number
    return "\n".join(
        f"{mark}{row}{end}" if place < marked else row for place, row in enumerate(rows)
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (prose(49), "gopher_short_doc"),
        (prose(50), None),
        (prose(49) + " . ! -- (…) \x01", "gopher_short_doc"),  # marks are no words
        (prose(49) + " 1", None),  # a number is one
        ("in to " * 30, "gopher_below_avg_threshold"),
        ("and the " * 30, None),  # 3 is not below 3
        ("understandable " * 60, "gopher_above_avg_threshold"),
        ("to " + "recognized " * 60 + "to the", None),  # 10 is not above 10
        (prose(54) + " #" * 6, None),  # 6 of 60
        (prose(54) + " #" * 7, "gopher_too_many_hashes"),
        (prose(54) + " ##" * 4, "gopher_too_many_hashes"),  # 8 of 58
        (prose(53) + " ..." * 3 + " …" * 3 + " end", None),
        (prose(53) + " ..." * 3 + " …" * 4 + " end", "gopher_too_many_ellipsis"),
        (lines(10, 9, "- "), None),
        (lines(10, 10, "- "), "gopher_too_many_bullets"),
        (lines(10, 10, " \t•"), "gopher_too_many_bullets"),
        (lines(10, 3, "", "..."), None),
        (lines(10, 4, "", " …  "), "gopher_too_many_end_ellipsis"),
        (prose(60) + " 17" * 15, None),  # 60 of 75
        (prose(60) + " 17" * 16, "gopher_below_alpha_threshold"),
        (prose(60) + " 17th" * 16, None),  # one letter is enough
        (prose(60) + " ½" * 16, "gopher_below_alpha_threshold"),  # but a fraction is none
        ("the house garden " * 20, "gopher_enough_stop_words"),
        ("THE AND house garden " * 20, "gopher_enough_stop_words"),  # as they are written
    ],
)
def test_each_rule_has_its_reason(text: str, reason: str | None) -> None:
    assert GopherQualityFilter().broken_rule(DocumentText(text)) == reason


def test_the_first_rule_that_is_broken_counts() -> None:
    assert GopherQualityFilter().broken_rule(DocumentText("# " * 60)) == "gopher_short_doc"
    rules = GopherQualityFilter(min_doc_words=None, min_avg_word_length=None)
    assert rules.broken_rule(DocumentText("# " * 60)) == "gopher_too_many_hashes"


def test_upper_limit_of_words_can_be_changed() -> None:
    assert GopherQualityFilter(max_doc_words=60).broken_rule(DocumentText(prose(60))) is None
    assert (
        GopherQualityFilter(max_doc_words=60).broken_rule(DocumentText(prose(61)))
        == "gopher_long_doc"
    )
    assert GopherQualityFilter(max_doc_words=60).broken_rule(DocumentText(prose(60) + " ?")) is None


@pytest.mark.parametrize("off", [None, 0])
def test_every_rule_can_be_switched_off(off: int | None) -> None:
    rules = GopherQualityFilter(*[off] * 9)
    for text in ("#", "- ...", "17", "in", "understandable"):
        assert rules.broken_rule(DocumentText(text)) is None


def test_stop_words_can_be_replaced() -> None:
    german = DocumentText("das Haus und der Garten " * 12)
    assert GopherQualityFilter().broken_rule(german) == "gopher_enough_stop_words"
    assert GopherQualityFilter(stop_words=["das", "und"]).broken_rule(german) is None


def test_kind_of_words_can_be_chosen() -> None:
    text = DocumentText("你好世界" * 20)
    assert GopherQualityFilter(min_stop_words=0).broken_rule(text) == "gopher_short_doc"
    rules = GopherQualityFilter(min_stop_words=0, min_avg_word_length=1, words="cjk-aware")
    assert rules.broken_rule(text) is None
