"""Comments in source code."""

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator

LONGEST_PYTHON = 4_000_000
"""The longest Python source to parse: longer files are not written by hand, and parsing takes a
hundred times their size in memory."""


class UnreadableError(Exception):
    """Code whose comments cannot be separated from the rest."""


# An unclosed comment or string extends to the end, so each character is read once.
_TEXTS = r"\"(?:[^\"\\\n]|\\.)*+[\"]?|'(?:[^'\\\n]|\\.)*+[']?"
_RAW = r"`(?:[^`\\]|\\.)*+`?"
_BLOCK = r"/\*(?P<block>(?:[^*]|\*(?!/))*+)(?P<closed>\*/)?"
_SLASHES = rf"//(?P<line>[^\n]*)|{_BLOCK}|{_TEXTS}|{_RAW}"
_PHP = rf"(?://|\#(?!\[))(?P<line>[^\n]*)|{_BLOCK}|{_TEXTS}"
_RUBY = rf"^=begin\b(?P<block>.*?)(?P<closed>^=end\b|\Z)|\#(?P<line>[^\n]*)|{_TEXTS}"
_SHELL = rf"(?<![^\s;])\#(?P<line>[^\n]*)|\\.|{_TEXTS}"
_MARKUP = r"<!--(?P<block>.*?)(?:(?P<closed>-->)|\Z)"
_SQL = rf"--(?P<line>[^\n]*)|{_BLOCK}|'(?:[^']|'')*+'?"
_LUA = r"--\[\[(?P<block>.*?)(?:(?P<closed>\]\])|\Z)|--(?P<line>[^\n]*)|" + _TEXTS
_HASKELL = r"\{-(?P<block>.*?)(?:(?P<closed>-\})|\Z)|--(?P<line>[^\n]*)|\"(?:[^\"\\\n]|\\.)*+\"?"
_HASH = rf"\#(?P<line>[^\n]*)|{_TEXTS}"

_SHAPES = {
    _SLASHES: (
        "text/x-c", "text/x-c++", "text/x-c++src", "text/x-csrc", "text/x-csharp", "text/x-dart",
        "text/x-go", "text/x-groovy", "text/x-java", "text/x-java-source", "text/x-javascript",
        "text/x-kotlin", "text/x-objective-c", "text/x-rust", "text/x-scala", "text/x-swift",
        "text/x-typescript", "application/javascript", "application/typescript", "text/css",
        "text/javascript",
    ),
    _PHP: ("text/x-php", "application/x-php"),
    _RUBY: ("text/x-ruby",),
    _SHELL: ("text/x-shellscript", "application/x-sh"),
    _MARKUP: ("text/html", "text/xml", "application/xml", "image/svg+xml", "text/markdown"),
    _SQL: ("text/x-sql", "application/sql"),
    _LUA: ("text/x-lua",),
    _HASKELL: ("text/x-haskell",),
    _HASH: ("text/x-perl", "text/x-r", "text/x-julia", "text/x-yaml", "text/x-toml",
            "text/x-makefile", "text/x-cmake", "text/x-elixir"),
}  # fmt: skip

LANGUAGES = {
    name: re.compile(shape, re.DOTALL | re.MULTILINE)
    for shape, names in _SHAPES.items()
    for name in names
} | {"text/x-python": None, "text/x-script.python": None}
"""For each MIME type, a pattern of its comments and strings (comments in strings do not count).
None: Python, which is tokenized."""


def comment_ratio(source: str, language: str) -> float:
    """Return the share of characters in comments, without their marks.

    The comments count as joined by single spaces.
    """
    comments = list(_comments(source, language))
    return (sum(map(len, comments)) + max(0, len(comments) - 1)) / len(source)


def _comments(source: str, language: str) -> Iterator[str]:
    pattern = LANGUAGES[language]
    if pattern is None:
        _docstrings(source)  # code that does not parse could keep tokenize busy for too long
        yield from (comment[1:] for comment in _python_comments(source))
        return
    for found in pattern.finditer(source):
        groups = found.groupdict()
        if groups.get("line") is not None:
            yield groups["line"]
        elif groups.get("block") is not None:
            if not groups["closed"]:
                raise UnreadableError
            yield groups["block"]


def python_comment_ratio(source: str) -> float:
    """Return the share of characters in comments, with their `#`, and in docstrings.

    The docstrings count as joined by line breaks.
    """
    docstrings = _docstrings(source)
    comments = _python_comments(source)
    between = max(0, len(docstrings) - 1)
    return (sum(map(len, comments)) + sum(map(len, docstrings)) + between) / len(source)


def _docstrings(source: str) -> list[str]:
    _refuse_giants(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ignore warnings about the code
            tree = ast.parse(source)
            nodes = [node for node in ast.walk(tree)
                     if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.Module)]  # fmt: skip
            return [docstring for node in nodes if (docstring := ast.get_docstring(node))]
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        raise UnreadableError from None


def _python_comments(source: str) -> list[str]:
    _refuse_giants(source)
    try:
        return [
            token.string
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        ]
    except (tokenize.TokenError, SyntaxError, ValueError, RecursionError):
        raise UnreadableError from None


def _refuse_giants(source: str) -> None:
    if len(source) > LONGEST_PYTHON:
        raise UnreadableError
