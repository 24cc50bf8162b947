import pytest
from curator_core import DocumentBatch
from curator_core.testing import check_stage
from curator_text import (
    AlphaFilter,
    DocumentText,
    GeneralCommentToCodeFilter,
    HTMLBoilerplateFilter,
    NumberOfLinesOfCodeFilter,
    PythonCommentToCodeFilter,
    TextFilter,
    XMLHeaderFilter,
)
from curator_text.filters.code_comments import LANGUAGES, LONGEST_PYTHON
from hypothesis import given
from hypothesis import strategies as st

SHAPES = {shape: name for name, shape in sorted(LANGUAGES.items())}
FILTERS = [
    PythonCommentToCodeFilter(),
    *(GeneralCommentToCodeFilter(language=name) for name in SHAPES.values()),
    NumberOfLinesOfCodeFilter(),
    XMLHeaderFilter(),
    AlphaFilter(),
    HTMLBoilerplateFilter(),
]
PYTHON = '''"""What it is."""
import os  # a comment


async def late():
    """Not counted, as in the rule as published."""


def f():
    """Adds.

    More.
    """
    return "# no comment"
'''


def named(rule: TextFilter) -> str:
    return f"{rule.name}-{getattr(rule, 'language', '')}"


def test_python_counts_comments_and_docstrings() -> None:
    counted = ["# a comment", "What it is.\nAdds.\n\nMore."]
    assert PythonCommentToCodeFilter().score(DocumentText(PYTHON)) == sum(map(len, counted)) / len(
        PYTHON
    )


@pytest.mark.parametrize(
    ("code", "stays"),
    [
        (PYTHON, True),
        ("x = 1\n" * 20, False),
        ("# all\n# comments\n", False),
        ("def broken(:  # comment\n", False),
        ("x = '\x00'  # comment\n", False),
        ("#" + "x" * LONGEST_PYTHON + "\n" + "y = 1\n" * 200_000, False),
    ],
    ids=["code", "no comments", "only comments", "broken", "NUL", "giant"],
)
def test_python_limits_of_comments(code: str, stays: bool) -> None:
    assert PythonCommentToCodeFilter().passes(code) is stays


@pytest.mark.parametrize(
    ("language", "code", "comments"),
    [
        ("text/x-c", 'int a; // one\nchar *s = "// no";\n/* two\n */', " one  two\n "),
        ("text/x-java", "char c = '\"'; // one", " one"),
        ("text/x-javascript", "let s = `// no`; /**/ // one", "  one"),
        ("text/x-go", "x := 1 /* a * b */", " a * b "),
        ("text/html", "<p>a</p><!-- one --><!-- two -->", " one   two "),
        ("text/x-shellscript", "echo $#; echo \\# '#no' # one", " one"),
        ("text/x-ruby", "=begin\none\n=end\nx # two", "\none\n  two"),
        ("text/x-python", "x = '# no'  # one", " one"),
        ("text/x-sql", "select '--no' -- one", " one"),
        ("text/x-lua", "--[[ one ]] x = 1 -- two", " one   two"),
        ("text/x-haskell", "{- one -} x = 1 -- two", " one   two"),
        ("text/x-php", "#[Attribute]\nx // one\n# two", " one  two"),
        ("text/x-yaml", "a: 1 # one", " one"),
    ],
)
def test_comments_of_other_languages(language: str, code: str, comments: str) -> None:
    rule = GeneralCommentToCodeFilter(language=language)
    assert rule.score(DocumentText(code)) == len(comments) / len(code)


def test_unclosed_comment_is_an_error() -> None:
    rule = GeneralCommentToCodeFilter(language="text/x-c")
    assert rule.score(DocumentText("int a; /* and so on")) == 9999
    assert not rule.passes("int a; /* and so on")


def test_unknown_language_is_a_problem_of_the_plan() -> None:
    [problem] = GeneralCommentToCodeFilter(language="text/x-klingon").check()
    assert "'text/x-klingon'" in problem
    assert "text/x-ruby" in problem


@pytest.mark.parametrize(
    ("rule", "text", "stays"),
    [
        (NumberOfLinesOfCodeFilter(), "x\n" * 9, True),
        (NumberOfLinesOfCodeFilter(), "x\n" * 8 + "x", False),
        (NumberOfLinesOfCodeFilter(), "x\n" * 20_000, False),
        (NumberOfLinesOfCodeFilter(1, 2), "x", True),
        (XMLHeaderFilter(), '\n<?xml version="1.0"?>', False),
        (XMLHeaderFilter(), " " * 86 + "<?xml version=", False),
        (XMLHeaderFilter(), " " * 87 + "<?xml version=", True),
        (AlphaFilter(), "abé5", True),
        (AlphaFilter(), "a123", True),
        (AlphaFilter(), "a1234", False),
        (HTMLBoilerplateFilter(), "<p>" + "x" * 100, True),
        (HTMLBoilerplateFilter(), "<p>" + "x" * 99, False),
        (HTMLBoilerplateFilter(), "<p>" + "x" * 100 + "<br>" * 200, False),
        (HTMLBoilerplateFilter(0, 0), "<p>", True),
    ],
)
def test_limits_of_code_rules(rule: TextFilter, text: str, stays: bool) -> None:
    assert rule.passes(text) is stays


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("<p class='a>b'>one</p>", "one"),
        ("<script>if (a<b) {}</script>one<STYLE>p {}</style>", "one"),
        ("<!-- <p>no --><!DOCTYPE html>one", "one"),
        ("a &lt; b &nosuch; &amp;", "a < b &nosuch; &"),
        ("1 < 2", "1 < 2"),
        ("<script>open", ""),
        ("one<!-- open", "one"),
        ("one<p title='open>", "one"),
        ("<scripted>one", "one"),
        ("<ul>\n    <li>one\n    <li>two\n</ul>\n    ", "\none\n    two\n "),
        ("<p>  </p>&#32; <p>", "  "),
        ("<pre>\n    </pre>\t\t<textarea>  </textarea></pre>   ", "\n        "),
        ("<b>one</b>\u00a0 <b>two</b>", "one\u00a0 two"),
    ],
)
def test_visible_text_of_html(source: str, seen: str) -> None:
    assert HTMLBoilerplateFilter(0, 0).score(DocumentText(source)) == len(seen) / len(source)


@pytest.mark.parametrize("rule", FILTERS, ids=named)
def test_filter_fulfills_the_stage_contract(rule: TextFilter) -> None:
    rows = [{"text": PYTHON}, {"text": None}, {"text": ""}, {"text": "/* <!-- {- --[[ =begin"}]
    check_stage(rule, DocumentBatch.from_pylist(rows))


@pytest.mark.parametrize("rule", FILTERS, ids=named)
@given(st.text(st.sampled_from("/*<!->{}[]\"'`#\\=\n ab&;")))
def test_every_text_has_an_outcome(rule: TextFilter, text: str) -> None:
    assert rule.passes(text) in (True, False)


UNITS = [
    *("/*", "*/*", '"', "'\"", "`", "\\", "#", "//", "<!--", "<", "<a '", "<script>", "</script "),
    *("{-", "--[[", "=begin\n", "\x00", "(", "-", "[[", "e\u0301", "好", "\ud800", "&#", "&a"),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("rule", FILTERS, ids=named)
def test_hostile_texts_are_scored_quickly(rule: TextFilter) -> None:
    for unit in UNITS:
        assert rule.passes(unit * (100_000 // len(unit))) in (True, False)
