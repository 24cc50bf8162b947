"""Checks of options: numbers with which a rule would keep or drop nothing, and sizes."""

from collections.abc import Iterator
from dataclasses import fields
from numbers import Real
from types import UnionType
from typing import Any, get_args

from curator_core import CuratorError
from curator_core.io.partitioning import parse_size

SHARES = frozenset(
    {
        "max_boilerplate_string_ratio",
        "max_bullet_lines_ratio",
        "max_comment_to_code_ratio",
        "max_ellipsis_lines_ratio",
        "max_non_alpha_numeric_to_text_ratio",
        "max_non_alpha_words_ratio",
        "max_num_lines_ending_with_ellipsis_ratio",
        "max_num_sentences_without_endmark_ratio",
        "max_number_to_text_ratio",
        "max_parentheses_ratio",
        "max_repeated_line_fraction",
        "max_repeated_lines_char_ratio",
        "max_repeated_paragraphs_char_ratio",
        "max_repeated_paragraphs_ratio",
        "max_repeating_duplicate_ngram_ratio",
        "max_repeating_ngram_ratio",
        "max_url_to_text_ratio",
        "max_white_space_ratio",
        "min_alpha_ratio",
        "min_comment_to_code_ratio",
        "min_lang_content_ratio",
        "min_share",
        "min_stop_words_ratio",
        "min_words_with_alphabets",
    }
)
"""Options that are fractions. A value above 1 is probably a percentage."""


def limit_problems(stage: Any) -> Iterator[str]:
    """Describe each invalid limit of a rule."""
    yield from _type_problems(stage)
    numbers = {
        one.name: value
        for one in fields(stage)
        if isinstance(value := getattr(stage, one.name), int | float)
    }
    for name, value in numbers.items():
        most = f"max_{name.removeprefix('min_')}"
        if name.startswith("min_") and value > numbers.get(most, value):
            yield f"{name} is {value}, but {most} is {numbers[most]}: no number is in between"
        if name in SHARES and value > 1:
            yield f"{name} is {value:g}, but a share is at most 1 ({value:g} % are {value / 100:g})"


def _type_problems(stage: Any) -> Iterator[str]:
    """Find numeric options with other values: they would fail on every document."""
    for one in fields(stage):
        kinds = set(get_args(one.type)) if isinstance(one.type, UnionType) else {one.type}
        value = getattr(stage, one.name)
        if not kinds & {int, float} or not kinds <= {int, float, type(None)}:
            continue
        if value is None and type(None) in kinds:
            continue
        if isinstance(value, bool) or not isinstance(value, Real):
            yield f"{one.name} must be a number, but is {value!r:.60}"


def size_problems(name: str, size: int | str | None, example: str) -> Iterator[str]:
    """Describe the problem if an option is not a valid size."""
    try:
        parse_size(size)
    except CuratorError:
        yield f"{name} is {size!r}, but must be a size such as {example}"
