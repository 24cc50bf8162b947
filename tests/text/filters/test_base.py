import pickle
from dataclasses import dataclass

import pytest
from curator_core import DocumentBatch, Dropped
from curator_text import (
    BoilerPlateStringFilter,
    CommonEnglishWordsFilter,
    DocumentText,
    MeanWordLengthFilter,
    NonAlphaNumericFilter,
    NumbersFilter,
    PunctuationFilter,
    RepeatedLinesFilter,
    StopWordLanguageFilter,
    SymbolsToWordsFilter,
    TextFilter,
    UrlsFilter,
    WordCountFilter,
)
from hypothesis import given
from hypothesis import strategies as st

FILTERS: list[TextFilter] = [
    BoilerPlateStringFilter(),
    CommonEnglishWordsFilter(),
    MeanWordLengthFilter(),
    NonAlphaNumericFilter(),
    NumbersFilter(),
    PunctuationFilter(),
    RepeatedLinesFilter(),
    StopWordLanguageFilter(),
    SymbolsToWordsFilter(),
    UrlsFilter(),
    WordCountFilter(),
]
PROSE = (
    "The harbour was quiet that morning, and most of the boats were still at anchor.\n"
    "A few people stood on the quay to watch the ferry, which had been late for a week.\n"
    "Nobody knew whether it would come at all, but they were patient and had brought coffee.\n\n"
    "When it came, it was with a horn that woke the gulls, and the children waved to the captain."
)


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
def test_ordinary_prose_passes_every_rule(rule: TextFilter) -> None:
    assert rule.passes(PROSE)


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
@pytest.mark.parametrize("text", [None, "", " \t\n\n\u00a0\u3000"])
def test_missing_and_blank_texts_pass_no_rule(rule: TextFilter, text: str | None) -> None:
    assert not rule.passes(text)


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
@given(text=st.text())
def test_every_text_has_an_outcome(rule: TextFilter, text: str) -> None:
    assert rule.passes(text) in (True, False)
    if text.strip():
        assert rule.score(DocumentText(text)) >= 0


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
@pytest.mark.parametrize(
    "text", ["\x00", "\ud800", "e" + "\u0301" * 1000, "שלום עולם", "好" * 1000]
)
def test_hostile_texts_have_an_outcome(rule: TextFilter, text: str) -> None:
    assert rule.passes(text) in (True, False)


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: rule.name)
def test_filters_can_be_pickled(rule: TextFilter) -> None:
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_dropped_documents_have_the_reason_of_the_rule() -> None:
    rows = [{"text": "one two", "id": 1}, {"text": "one", "id": 2}, {"text": None, "id": 3}]
    kept, dropped = WordCountFilter(2, 9).process(DocumentBatch.from_pylist(rows))
    assert isinstance(kept, DocumentBatch)
    assert isinstance(dropped, Dropped)
    assert kept.to_pylist() == rows[:1]
    assert (dropped.reason, dropped.items) == ("fewer than 2 or more than 9 words", 2)


@dataclass
class ShoutingFilter(TextFilter):
    most: float = 0.3
    reason = "too many capitals"

    def score(self, text: str) -> float:
        return sum(map(str.isupper, text)) / len(text)

    def keeps(self, score: float) -> bool:
        return score <= self.most


def test_custom_filter_is_a_score_and_a_limit() -> None:
    batch = DocumentBatch.from_pylist([{"text": "quiet"}, {"text": "LOUD"}, {"text": ""}])
    kept, dropped = ShoutingFilter().process(batch)
    assert isinstance(kept, DocumentBatch)
    assert isinstance(dropped, Dropped)
    assert kept.to_pylist() == [{"text": "quiet"}]
    assert (dropped.reason, dropped.items) == ("too many capitals", 2)


def test_batch_without_drops_is_not_copied() -> None:
    batch = DocumentBatch.from_pylist([{"text": "one two"}])
    assert WordCountFilter(1, 9).process(batch) == [batch]


def test_text_column_can_be_chosen() -> None:
    rule = WordCountFilter(2, text_field="body")
    assert rule.inputs() == ("body",)
    [kept, _] = rule.process(DocumentBatch.from_pylist([{"body": "a b"}, {"body": "a"}]))
    assert isinstance(kept, DocumentBatch)
    assert kept.num_items == 1


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (WordCountFilter(), "fewer than 50 or more than 100,000 words"),
        (MeanWordLengthFilter(), "mean word length under 3 or over 10"),
        (SymbolsToWordsFilter(), "over 10 % of words are # or ..."),
        (CommonEnglishWordsFilter(), "fewer than 2 common English words"),
        (NonAlphaNumericFilter(), "over 25 % symbols and spaces"),
        (NumbersFilter(0.5), "over 50 % digits"),
        (UrlsFilter(), "over 20 % URLs"),
        (RepeatedLinesFilter(), "over 30 % of lines are repeated"),
        (PunctuationFilter(), "over 85 % of lines lack an end mark"),
        (BoilerPlateStringFilter(), "lorem ipsum, or over 40 % boilerplate"),
        (StopWordLanguageFilter("de"), "language is not de"),
    ],
    ids=lambda value: value.name if isinstance(value, TextFilter) else None,
)
def test_reasons_name_the_limit(rule: TextFilter, reason: str) -> None:
    assert rule.reason == reason
