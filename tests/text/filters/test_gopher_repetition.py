from itertools import count

import pytest
from curator_text import DocumentText, GopherRepetitionFilter


def unique(number: int) -> str:
    """Return different words of four characters."""
    return " ".join(f"w{place:03d}" for place in range(number))


def blocks(separator: str, repeated: int, others: int, size: int = 20) -> str:
    """Return `repeated` equal blocks and other ones of the same size."""
    numbers = count(10_000)
    rest = [" ".join(f"{next(numbers)}" for _ in range(size // 5)) for _ in range(others)]
    return separator.join([*(["x" * size] * repeated), *rest])


def twice(sequences: int, words: int) -> str:
    """Return sequences of words of four characters, each written twice in a row."""
    numbers = count(1000)
    rows = [" ".join(str(next(numbers)) for _ in range(words)) for _ in range(sequences)]
    return " ".join([*rows, *rows])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (unique(60), None),
        # 4 of 10 paragraphs are equal, so 3 occurred before: not more than 0.3.
        (blocks("\n\n", 4, 6, 10), "dup_para_char_frac"),  # but 30 of 108 characters are
        (blocks("\n\n", 5, 6), "dup_para_frac"),  # 4 of 11
        (blocks("\n\n\n\n", 5, 6), "dup_para_frac"),  # more new lines are not more paragraphs
        (blocks("\n", 4, 6, 10), "dup_line_char_frac"),
        (blocks("\n", 5, 6), "dup_line_frac"),
        ("\n\n" + blocks("\n", 5, 6) + "\n\n", "dup_line_frac"),
        ("one two " * 4 + unique(16), "top_2_gram"),  # 28 of 111
        (f"one two {unique(24)} one two", None),  # 14 of 135
        # The commonest n-gram counts even if it occurs once, which drops short texts.
        (unique(12), "top_3_gram"),  # 14 of 59
        (unique(24), None),  # 19 of 119
        # "aa bb cc" twice in 80 characters: its 2-grams take 10 (.125), it takes 16 (.2).
        (f"aa bb cc {unique(6)} aa bb cc {unique(12)[30:62]}", "top_3_gram"),
        # six sequences of five words: a 4-gram takes 38 of 299 (.13), the second half 120 (.40)
        (twice(6, 5), "duplicated_5_n_grams"),
        (twice(1, 60), "duplicated_5_n_grams"),
    ],
)
def test_each_rule_has_its_reason(text: str, reason: str | None) -> None:
    assert GopherRepetitionFilter().broken_rule(DocumentText(text)) == reason


def test_share_at_the_limit_is_kept() -> None:
    rules = GopherRepetitionFilter(dup_line_char_frac=None, top_n_grams=())
    assert rules.broken_rule(DocumentText(blocks("\n", 4, 6))) is None  # 3 of 10
    assert rules.broken_rule(DocumentText(blocks("\n", 4, 5))) == "dup_line_frac"  # 3 of 9


@pytest.mark.parametrize("off", [None, 0])
def test_limits_can_be_switched_off(off: float | None) -> None:
    rules = GopherRepetitionFilter(off, off, off, off, (), ())
    assert rules.broken_rule(DocumentText("same\n\n" * 9)) is None


@pytest.mark.parametrize("length", range(5, 11))
def test_only_ngrams_of_the_given_length_count(length: int) -> None:
    rules = GopherRepetitionFilter(top_n_grams=(), dup_n_grams=((length, 0.1),))
    assert rules.broken_rule(DocumentText(twice(6, length))) == f"duplicated_{length}_n_grams"
    # The repeated sequences are one word shorter, with other words between them.
    rows = twice(6, length - 1).split()
    gaps = iter(range(900))
    cut = " ".join(
        f"{word} g{next(gaps)}" if place % (length - 1) == length - 2 else word
        for place, word in enumerate(rows)
    )
    assert rules.broken_rule(DocumentText(cut)) is None


def test_kind_of_words_can_be_chosen() -> None:
    text = DocumentText("我们今天去公园玩" * 6)
    assert GopherRepetitionFilter().broken_rule(text) is None  # it is one word
    reason = GopherRepetitionFilter(words="cjk-aware").broken_rule(text)
    assert reason == "top_2_gram"  # 3 * 6 of 48


def test_invalid_options_are_problems_of_the_plan() -> None:
    rules = GopherRepetitionFilter(top_n_grams=((0, 0.1),), words="spaces")  # type: ignore[arg-type]
    words, top_n_grams = rules.check()
    assert "words is 'spaces'" in words
    assert "cjk-aware" in words
    assert "top_n_grams names 0-grams" in top_n_grams
