import time

import pytest
from curator_text import C4QualityFilter, DocumentText

GOOD = "This is a good line with a full stop."
PAGE = "\n".join([GOOD] * 5)


def edited(lines: str, rules: C4QualityFilter | None = None) -> str | None:
    """Return what is left of the given lines amid a page of five good ones."""
    page = DocumentText(f"{PAGE}\n{lines}\n{GOOD}")
    text, reason = (rules or C4QualityFilter()).edit(page)
    assert reason is None
    assert text.startswith(PAGE)
    assert text.endswith(GOOD)
    return text[len(PAGE) : -len(GOOD)].strip("\n") or None


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("This one ends well!", "This one ends well!"),
        ('She said "so it does"', 'She said "so it does"'),
        ("This one has no end", None),
        ("This one trails off...", None),
        ("Only two.", None),
        ("  There is space around it.\t ", "There is space around it."),
        ("A claim.[1] Another one[citation needed].[edit]", "A claim. Another one."),
        ("An empty one [] is a citation.", "An empty one  is a citation."),
        ("A note [sic] is no citation.", "A note [sic] is no citation."),
        ("Turn on JavaScript to see this.", None),
        ("Java script is not named here.", "Java script is not named here."),
        ("Turn on java[3]script to see this.", None),  # phrases are searched for without citations
        ("We use cookies to be nice.", None),
        ("We like to use [2]cookies.", None),
        ("We bake cookies to be nice.", "We bake cookies to be nice."),
        ("See our PRIVACY POLICY and wonder.", None),
        ("The terms of use are these.", None),
        ("There is a " + "w" * 1000 + ".", None),
        ("There is a " + "w" * 999 + ".", "There is a " + "w" * 999 + "."),
        ("One is here.\r\nAnother is here.", "One is here.\nAnother is here."),
        ("One is here.\u2028Another is here.", "One is here.\nAnother is here."),
        ("One is here.\x1cThis\x00 has a NUL.", "One is here.\nThis\x00 has a NUL."),
        ("\n\n \n", None),
    ],
)
def test_lines_that_are_not_prose_are_removed(line: str, left: str | None) -> None:
    assert edited(line) == left


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (PAGE, None),
        ("\n".join([GOOD] * 4), "too_few_sentences"),
        ("One of them. Two of them. Three? Four! Five.", None),
        ("One of them. Two of them. Three? Four! 5.5 five.5", "too_few_sentences"),
        (f"{PAGE}\nHere is Lorem  ipsum.", None),
        (f"{PAGE}\nHere is Lorem ipsum.", "lorem_ipsum"),
        (f"{PAGE}\nlorem ipsum", None),  # the line was removed before
        (f"{PAGE}\nThere is a {{ in this.", "curly_bracket"),
        (f"{PAGE}\nThere is a }} in this.", None),
        (f"{PAGE}\nJavaScript has a {{ in it.", None),  # this line too
        (f"{PAGE}\nThe lorem ipsum of JavaScript.", "lorem_ipsum"),
        ("你好。你好。你好。你好。你好。", "too_few_sentences"),  # one word
    ],
)
def test_pages_are_dropped_with_a_reason(text: str, reason: str | None) -> None:
    assert C4QualityFilter().broken_rule(DocumentText(text)) == reason


def test_every_rule_can_be_switched_off() -> None:
    rules = C4QualityFilter(
        remove_citations=False,
        filter_no_terminal_punct=False,
        min_num_sentences=-1,
        min_words_per_line=-1,
        max_word_length=-1,
        filter_lorem_ipsum=False,
        filter_javascript=False,
        filter_curly_bracket=False,
        filter_policy=False,
    )
    text = DocumentText("a\nlorem ipsum {\njavascript[1]\nuse cookies\n" + "w" * 2000)
    assert rules.edit(text) == (text, None)


def test_split_paragraph_false_judges_sentences() -> None:
    rules = C4QualityFilter(split_paragraph=False, min_num_sentences=2)
    text = DocumentText("This is one. Two.\nHere is the\nthird one! And no end")
    assert rules.edit(text) == ("This is one. Here is the\nthird one!", None)
    assert rules.edit(DocumentText("This is one. Two.")).reason == "too_few_sentences"


def test_sentences_without_spaces_end_at_wide_marks() -> None:
    rules = C4QualityFilter(filter_no_terminal_punct=False, min_words_per_line=1)
    assert rules.broken_rule(DocumentText("你好。" * 5)) is None
    assert rules.broken_rule(DocumentText("你好。" * 4)) == "too_few_sentences"


@pytest.mark.parametrize("text", ["." * 1_000_000 + "x", "a.'" * 300_000, "[1" * 500_000])
def test_time_is_bounded_for_long_runs_of_marks(text: str) -> None:
    started = time.process_time()
    assert (
        C4QualityFilter(max_word_length=-1).broken_rule(DocumentText(f"a b {text}"))
        == "too_few_sentences"
    )
    assert time.process_time() - started < 5
