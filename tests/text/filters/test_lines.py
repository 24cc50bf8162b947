import pytest
from curator_text import BoilerPlateStringFilter, PunctuationFilter, RepeatedLinesFilter
from curator_text.document_text import DocumentText


def test_repeated_lines_score_is_the_share_of_different_lines() -> None:
    assert RepeatedLinesFilter().score(DocumentText("a\nb\na\na")) == 0.5
    assert RepeatedLinesFilter().score(DocumentText("a\n\n  \na")) == 0.5, (
        "blank lines are no lines"
    )
    assert RepeatedLinesFilter().score(DocumentText("a\na ")) == 1.0, (
        "white space tells lines apart"
    )


def test_repeated_lines_limit_is_inclusive() -> None:
    seven = "\n".join("abcdefg")
    assert RepeatedLinesFilter().passes(seven + "\na\na\na")
    assert not RepeatedLinesFilter().passes(seven + "\na\na\na\na")


@pytest.mark.parametrize("end", [".", "?", "!", '"', "'", ".  "])
def test_end_marks_of_lines(end: str) -> None:
    assert PunctuationFilter().score(DocumentText(f"A line{end}\nno end")) == 0.5


def test_punctuation_limit_is_inclusive() -> None:
    assert PunctuationFilter().passes("no end\n" * 17 + "End.\n" * 3)
    assert not PunctuationFilter().passes("no end\n" * 18 + "End.\n" * 3)


def test_boilerplate_is_counted_by_paragraph() -> None:
    text = "This site uses cookies.\nMore.\n\nA page.\n\nSee our Privacy Policy."
    assert BoilerPlateStringFilter().score(DocumentText(text)) == pytest.approx(2 / 3)
    assert not BoilerPlateStringFilter().passes(text)
    assert BoilerPlateStringFilter().passes(text + "\n\nAnother page.\n\nAnd another.")


def test_lorem_ipsum_anywhere_drops_the_text() -> None:
    assert not BoilerPlateStringFilter().passes("A page.\n\n" * 100 + "LOREM IPSUM dolor")
