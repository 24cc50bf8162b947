"""The engines agree in scores, decisions, reasons and edited texts, on any text."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped
from curator_text import (
    BoilerPlateStringFilter,
    BulletsFilter,
    C4ParagraphFilter,
    C4QualityFilter,
    CommonEnglishWordsFilter,
    EllipsisFilter,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    LongWordFilter,
    MeanWordLengthFilter,
    NonAlphaNumericFilter,
    NumbersFilter,
    ParenthesesFilter,
    PornographicUrlsFilter,
    PunctuationFilter,
    RepeatedLinesByCharFilter,
    RepeatedLinesFilter,
    RepeatedParagraphsByCharFilter,
    RepeatedParagraphsFilter,
    RepeatingDuplicateNGramsFilter,
    RepeatingTopNGramsFilter,
    SymbolsToWordsFilter,
    TextFilter,
    UrlsFilter,
    WhiteSpaceFilter,
    WordCountFilter,
    WordsWithoutAlphabetsFilter,
)
from curator_text.compiled.engine import VARIABLE
from curator_text.filters.base import TextRule
from curator_text.filters.scoring import TextScore
from hypothesis import example, given, settings
from hypothesis import strategies as st

FILTERS: list[TextFilter] = [
    BoilerPlateStringFilter(),
    BulletsFilter(0.3),
    CommonEnglishWordsFilter(),
    CommonEnglishWordsFilter(1, stop_at_false=False),
    EllipsisFilter(),
    LongWordFilter(7),
    MeanWordLengthFilter(),
    NonAlphaNumericFilter(),
    NumbersFilter(),
    ParenthesesFilter(invert=True),
    PornographicUrlsFilter(),
    PunctuationFilter(),
    RepeatedLinesByCharFilter(),
    RepeatedLinesFilter(),
    RepeatedParagraphsByCharFilter(),
    RepeatedParagraphsFilter(),
    RepeatingDuplicateNGramsFilter(1),
    RepeatingDuplicateNGramsFilter(2),
    RepeatingDuplicateNGramsFilter(5, 0.15),
    RepeatingTopNGramsFilter(1),
    RepeatingTopNGramsFilter(2),
    RepeatingTopNGramsFilter(4, 0.16),
    SymbolsToWordsFilter(),
    UrlsFilter(),
    WhiteSpaceFilter(),
    WordCountFilter(3),
    WordCountFilter(3, words="punctuation"),
    WordsWithoutAlphabetsFilter(),
]
SETS: list[TextRule] = [
    C4ParagraphFilter(1, 8),
    C4QualityFilter(),
    C4QualityFilter(filter_no_terminal_punct=False),
    C4QualityFilter(
        min_num_sentences=-1, min_words_per_line=-1, max_word_length=4, filter_policy=False
    ),
    C4QualityFilter(
        min_num_sentences=2, min_words_per_line=1, remove_citations=False,
        filter_no_terminal_punct=False, filter_lorem_ipsum=False, filter_javascript=False,
        filter_curly_bracket=False,
    ),
    FineWebQualityFilter(),
    FineWebQualityFilter(line_punct_exclude_zero=True, short_line_length=5, new_line_ratio=0.5),
    GopherQualityFilter(),
    GopherQualityFilter(min_doc_words=2, min_avg_word_length=1, stop_words=("a", "the", "好")),
    GopherQualityFilter(None, None, None, None, None, 0.5, 0.1, 0.5, None),
    GopherQualityFilter(None, 4, 2, 3, 0.2, None, None, None, 0),
    GopherRepetitionFilter(),
    GopherRepetitionFilter(None, 0.2, None, 0.1, ((3, 0.3), (1, 0.4)), ((2, 0.2), (6, 0.05))),
    GopherRepetitionFilter(0.5, 0.5, 0.4, None, (), ()),
]  # fmt: skip

PIECES = [
    *("the", "and", "with", "a", "aa", "wording", "Ⅷ", "Ⓐ", "½", "٣٤", "12", "#", "##", "#a", "a#"),
    *("...", "…", "[...]", "(...)", "[…]", "-»", "read more", "Read MORE..", "..", ".", "!", "?"),
    *("lorem ipsum", "LOREM Ipsum", "privacy policy", "use coo\u212aies", "uses cookies", "(", "]"),
    *("JavaScript", "use[1]cookies", "[edit]", "[citation needed]", "[]", "[٣]", "[1a]", "{", "⟨"),
    *("⟩", "http://a.b/porn", "https://x.y/%20%2z?q=1", "http://", "httpss://a", "hhttp://é"),
    *("\n", "\n", "\n\n", "\n\n\n", " ", " ", " ", "\t", "\r", "\r\n", "\b", "\x0b", "\x0c"),
    *("\x1c", "\x1d", "\x1e", "\x1f", "\x85", "\u00a0", "\u1680", "\u2000", "\u2007", "\u200a"),
    *("\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u200b", "\ufeff", "\u180e", "\x00"),
    *(
        "e\u0301",
        "\u0301",
        "שלום",
        "مرحبا",
        "好好",
        "今天天气很好。",
        "。",
        "\uff01」",
        "สวัสดี",
        "हिन्दी।",
    ),
    *("• a", "◦", "- b", "•", "-", "end.", 'said"', "it's", '."', ".)", "ﬁ", "İ", "ß", "ΣΑΣ", "ß"),
    *("\U00020000", "\U0001f600", "\U0001f130", "\U000e0100", "\U0010ffff", "x" * 1001, "y" * 30),
    *("a b a b", "of that have been here.", "One of these is it!", "\x00the", "the\x00"),
]
PROSE = "The boat was late, and nobody on the quay knew when it would have to leave again.\n" * 3

TEXTS = st.one_of(
    st.text(),
    st.text(st.sampled_from("ab .\n")),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=40).map(" ".join),
    st.lists(st.sampled_from(PIECES[:12]), max_size=60).map(" ".join),
    st.builds("{}{}".format, st.just(PROSE), st.text()),
)
BATCHES = st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=6)


@pytest.fixture(scope="module", autouse=True)
def environment() -> Iterator[pytest.MonkeyPatch]:
    pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def outcome(engine: str, rule: TextRule, batch: DocumentBatch) -> Any:
    """Return the kept rows, the dropped ones, and the reasons."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, engine)
        kept, *dropped = rule.process(batch)
    assert isinstance(kept, DocumentBatch)
    reasons = []
    for other in dropped:
        assert isinstance(other, Dropped)
        assert callable(other.records)
        reasons.append((other.reason, other.items, other.records().data["id"].to_pylist()))
    return kept.data.schema, kept.to_pylist(), reasons


def batch_of(texts: Sequence[str | None], kind: pa.DataType | None = None) -> DocumentBatch:
    ids = pa.array(range(len(texts)))
    return DocumentBatch(pa.table({"id": ids, "text": pa.array(texts, kind or pa.string())}))


def agree(rule: TextRule, texts: Sequence[str | None]) -> None:
    batch = batch_of(texts)
    assert outcome("compiled", rule, batch) == outcome("python", rule, batch)


HOSTILE = [
    "\x00" * 999, "e" + "\u0301" * 9999, "\u05e9\u05dc\u05d5\u05dd " * 99, "\u597d" * 999,
    "# " * 99, "." * 999, "http://" * 99, "http://" + "%2" * 99, "([" * 99, "abc " * 999,
    "a\n" * 99,
    "a\n\n" * 99, "\U0001f468\u200d\U0001f469 " * 99, "\r\n\r\na\r\n", "- \n" * 99, " a\n\na ",
    "a" * 500 + " " + "b " + "a" * 1000, "\na\n", "\n\na\n\nb\n\n", PROSE, PROSE * 9, "a" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("rule", FILTERS, ids=lambda rule: f"{rule.name}")
@given(texts=BATCHES)
@example(texts=HOSTILE)
@example(texts=["".join(PIECES), " ".join(PIECES), "\n".join(PIECES), *PIECES])
@settings(deadline=None, max_examples=60)
def test_engines_agree_on_filters(rule: TextFilter, texts: list[str | None]) -> None:
    agree(rule, texts)
    scored = rule.with_()
    scored.score_field = "score"
    agree(scored, texts)
    agree(TextScore(rule, "score"), texts)


@pytest.mark.parametrize("rules", SETS, ids=lambda rules: f"{rules.name}")
@given(texts=BATCHES)
@example(texts=HOSTILE)
@example(texts=["".join(PIECES), " ".join(PIECES), "\n".join(PIECES), *PIECES])
@settings(deadline=None, max_examples=100)
def test_engines_agree_on_rule_sets(rules: TextRule, texts: list[str | None]) -> None:
    agree(rules, texts)
