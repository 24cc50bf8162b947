import pytest
from curator_core import DocumentBatch
from curator_core.testing import check_stage
from curator_text import C4LineCleaner, C4QualityFilter

PAGE = """\
  Home | News
The boat was late [12] again.
Please enable JavaScript.
We use cookies, and more of them.
Nobody on the quay knew why {yet}.
Read more about it...
lorem ipsum is said here.
Two words.
"""
CLEAN = """\
The boat was late  again.
Nobody on the quay knew why {yet}.
lorem ipsum is said here."""


def test_lines_that_are_not_prose_are_removed() -> None:
    assert C4LineCleaner().rewrite(PAGE) == CLEAN


def test_options_are_those_of_the_filter() -> None:
    keeps = C4LineCleaner(
        remove_citations=False,
        filter_no_terminal_punct=False,
        min_words_per_line=-1,
        filter_javascript=False,
        filter_policy=False,
    )
    assert keeps.rewrite(PAGE) == PAGE.strip()
    assert C4LineCleaner(max_word_length=4).rewrite("It was late\nIt was so.") == "It was so."


def test_cleaned_text_is_that_of_the_filter() -> None:
    page = "\n".join([*PAGE.replace("{yet}", "yet").split("\n")[:5], *["One more line here."] * 5])
    [kept, *_] = C4QualityFilter().process(DocumentBatch.from_pylist([{"text": page}]))
    assert isinstance(kept, DocumentBatch)
    assert kept.to_pylist() == [{"text": C4LineCleaner().rewrite(page)}]


@pytest.mark.parametrize("text", ["", " \n\t", "Home | News"])
def test_text_without_prose_becomes_empty(text: str) -> None:
    assert C4LineCleaner().rewrite(text) == ""


def test_stage_fulfills_the_stage_contract() -> None:
    check_stage(C4LineCleaner(), DocumentBatch.from_pylist([{"text": PAGE}, {"text": None}]))
