import pytest
from curator_text import (
    BoilerPlateStringModifier,
    LineRemover,
    RepeatedLinesRemover,
    RepeatedParagraphsRemover,
)

NOTE = "We USE cookies."


def test_listed_lines_are_removed() -> None:
    assert LineRemover(["Home", ""]).rewrite("Home\nHomer\n\n Home\nend") == "Homer\n Home\nend"


def test_single_text_instead_of_a_list_is_a_problem_of_the_plan() -> None:
    [problem] = LineRemover("Home").check()
    assert problem == "patterns is the text 'Home', but must be a list: [Home]"


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("a\nb\na\nc", "a\nb\nc"),
        ("a\n\nb\n\na", "a\n\nb\n"),
        ("a\n a \nb", "a\nb"),
        ("", ""),
    ],
)
def test_repeated_lines_are_removed(text: str, after: str) -> None:
    assert RepeatedLinesRemover().rewrite(text) == after


def test_short_repeated_lines_are_kept() -> None:
    assert RepeatedLinesRemover(min_characters=2).rewrite("}\nab\n}\nab") == "}\nab\n}"


def test_repeated_paragraphs_are_removed() -> None:
    text = "a\nb\n\nc\n\na\nb\n\nb"
    assert RepeatedParagraphsRemover().rewrite(text) == "a\nb\n\nc\n\nb"
    assert RepeatedParagraphsRemover(min_characters=4).rewrite(text) == text


@pytest.mark.parametrize(
    ("paragraphs", "left"),
    [
        (["a", "b"], ["a", "b"]),
        ([NOTE, "a"], ["a"]),
        (["a", "b", NOTE, NOTE], ["a", "b"]),
        (["a", NOTE, "b"], ["a", NOTE, "b"]),
        ([NOTE, "a", NOTE], [NOTE, "a", NOTE]),
        ([NOTE], [NOTE]),
        (["a", "Lorem Ipsum dolor"], [""]),
    ],
)
def test_boilerplate_is_removed_at_both_ends(paragraphs: list[str], left: list[str]) -> None:
    assert BoilerPlateStringModifier().rewrite("\n\n".join(paragraphs)) == "\n\n".join(left)


def test_text_with_much_boilerplate_becomes_empty() -> None:
    strict = BoilerPlateStringModifier(remove_if_at_top_or_bottom=False)
    assert strict.rewrite(f"a\n\n{NOTE}") == ""
    assert strict.rewrite("a\n\nb") == "a\n\nb"
