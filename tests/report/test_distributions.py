"""Distributions on the page: what was read behind what was written."""

import pytest
from curator_core.model.contents import Contents
from curator_core.model.scores import bins_of
from curator_core.run.totals import Amount, RunTotals
from curator_report.distributions import distributions, quantile


def lengths(*characters: float) -> Contents:
    words = [number / 5 for number in characters]
    return Contents({"characters": bins_of(characters), "words": bins_of(words)})


def test_lengths_are_drawn_before_and_after_on_one_scale() -> None:
    read = Amount(records=400, contents=lengths(100, 500, 500, 900))
    written = Amount(records=200, contents=lengths(500, 500))
    [characters, words] = distributions(RunTotals(read, written)).figures
    assert (characters.title, words.title) == ("Length in characters", "Length in words")
    assert {bar.kind for bar in characters.histogram.bars} == {"before", "after"}
    assert characters.histogram.highest == pytest.approx(200, rel=0.1), "records, not samples"
    assert "read: median 5" in characters.caption
    assert "written: median 5" in characters.caption


def test_words_are_left_out_of_texts_without_spaces() -> None:
    contents = Contents({"characters": bins_of([3000.0]), "words": bins_of([1.0])})
    amount = Amount(records=1, contents=contents)
    [only] = distributions(RunTotals(amount, amount)).figures
    assert only.title == "Length in characters"


def test_languages_are_shares_the_most_common_first() -> None:
    read = Amount(4, contents=Contents({}, {"language": {"de": 3, "en": 1}}))
    written = Amount(1, contents=Contents({}, {"language": {"en": 1}}))
    [languages] = distributions(RunTotals(read, written)).values
    assert [(row.name, row.before, row.after) for row in languages.rows] == [
        ("de", "75.0 %", "0.0 %"),
        ("en", "25.0 %", "100.0 %"),
    ]


def test_without_contents_there_is_nothing_to_show() -> None:
    found = distributions(RunTotals(Amount(5), Amount(3)))
    assert (found.figures, found.values) == ([], [])


def test_quantiles_are_those_of_the_values() -> None:
    bins = bins_of(range(1, 1001))
    for part in (0.05, 0.5, 0.95):
        assert quantile(bins, part) == pytest.approx(1000 * part, rel=0.04)
