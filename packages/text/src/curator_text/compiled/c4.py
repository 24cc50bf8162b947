"""C4's editing: which lines of a page to keep, and whether enough of it is left.

Phrases match in any letter case.
"""

from typing import Any, NamedTuple

import numpy as np

from curator_text.compiled.kernels import Array, kernel, part
from curator_text.compiled.lines import line_end
from curator_text.compiled.phrases import Phrases, build_phrases, find_phrases, has_kelvin
from curator_text.compiled.utf8 import (
    DIGIT,
    POINTS,
    count_bytes,
    point_at,
    space_at,
    without_spaces,
)

KEPT, FILLED, CURLY, FEW, UNSURE, REMOVED = range(6)
"""Outcomes for a page. `UNSURE`: Python must decide. `REMOVED` is for single lines only."""

FILLER, SCRIPT, POLICY = 1, 2, 4
"""Bits for the phrases found in a line."""


class Limits(NamedTuple):
    """The options of the rules, as numbers."""

    fewest_words: int
    longest_word: int
    fewest_sentences: int
    citations: int
    end_marks: int
    curly: int


def phrases_for(rule: Any) -> Phrases:
    """Return the phrases that a C4 rule set looks for, in groups by bit."""
    return build_phrases((*rule.phrases, ("\0XX",)))  # never matches, but prevents an empty list


def limits_of(rule: Any) -> Limits:
    return Limits(
        rule.min_words_per_line,
        rule.max_word_length,
        rule.min_num_sentences,
        int(rule.remove_citations),
        int(rule.filter_no_terminal_punct),
        int(rule.filter_curly_bracket),
    )


@kernel
def edit_pages(
    data: Array,
    spans: tuple[Array, Array, Array],
    tables: tuple[Array, Phrases],
    limits: Limits,
    out: tuple[Array, Array, Array],
) -> None:
    """Write the edited pages one after another; a dropped page writes nothing."""
    flags_of, phrases = tables
    starts, ends, rows = spans
    written, offsets, outcomes = out
    size, row = 0, 0
    for wanted in rows:
        while row <= wanted:  # rows not wanted are empty
            offsets[row] = size
            row += 1
        begin = size
        if has_kelvin(data, starts[wanted], ends[wanted]):
            outcomes[wanted] = UNSURE
            continue
        outcome, size = _edit(
            data, starts[wanted], ends[wanted], flags_of, phrases, limits, written, begin
        )
        outcomes[wanted] = outcome
        size = size if outcome == KEPT else begin
    while row < len(offsets):
        offsets[row] = size
        row += 1


@part
def _edit(  # noqa: PLR0913 - kernels have no objects to carry them
    data: Array,
    start: int,
    end: int,
    flags_of: Array,
    phrases: Phrases,
    limits: Limits,
    written: Array,
    begin: int,
) -> tuple[int, int]:
    size, sentences, kept = begin, 0, 0
    while start < end:
        stop, follows = line_end(data, start, end)
        first, last = without_spaces(data, start, stop)
        start = follows
        if not _has_good_words(data, first, last, limits):
            continue
        line = size
        if kept > 0:
            written[line] = 10
            line += 1
        behind = _copy(data, first, last, flags_of, limits.citations, written, line)
        outcome = _line_outcome(written, line, behind, phrases, limits)
        if outcome == REMOVED:
            continue
        if outcome != KEPT:
            return outcome, begin
        kept += 1
        size = behind
        if sentences < limits.fewest_sentences:
            sentences += _count_sentences(written, line, behind)
    if sentences < limits.fewest_sentences:
        return FEW, begin
    return KEPT, _strip(written, begin, size)


@part
def _line_outcome(data: Array, start: int, end: int, phrases: Phrases, limits: Limits) -> int:
    """Return the outcome for the page, `REMOVED` to remove only the line, or `KEPT`."""
    if limits.end_marks and not _ends_well(data, start, end):
        return REMOVED
    found = find_phrases(data, start, end, phrases)
    if found & FILLER:
        return FILLED
    if found & SCRIPT:
        return REMOVED
    if limits.curly and count_bytes(data, start, end, 123) > 0:
        return CURLY
    return REMOVED if found & POLICY else KEPT


@part
def _strip(written: Array, begin: int, size: int) -> int:
    """Strip white space at both ends, in place, and return the new end."""
    first, last = without_spaces(written, begin, size)
    if first > begin:
        for place in range(first, last):
            written[begin + place - first] = written[place]
    return begin + last - first


@part
def _has_good_words(data: Array, start: int, end: int, limits: Limits) -> bool:
    """Whether the line has enough words, and none is too long."""
    longest = limits.longest_word
    is_short = longest == -1 or 0 <= end - start <= longest
    words, size = 0, 0
    while start < end:
        width = space_at(data, start)
        if width:
            size = 0
            start += width
            continue
        words += size == 0
        size += data[start] & 0xC0 != 0x80
        if longest != -1 and size > longest:
            return False
        start += 1
        if is_short and words >= limits.fewest_words:
            return True
    return words >= limits.fewest_words


@part
def _copy(  # noqa: PLR0913 - kernels have no objects to carry them
    data: Array, start: int, end: int, flags_of: Array, citations: int, written: Array, size: int
) -> int:
    """Copy a line without its citations, and return where the copy ends."""
    if not citations or count_bytes(data, start, end, 91) == 0:
        for step in range(end - start):
            written[size + step] = data[start + step]
        return size + end - start
    while start < end:
        if data[start] == 91:
            behind = _citation_end(data, start, end, flags_of)
            if behind > start:
                start = behind
                continue
        written[size] = data[start]
        size += 1
        start += 1
    return size


_EDIT = np.frombuffer(b"edit]", np.uint8)
_NEEDED = np.frombuffer(b"citation needed]", np.uint8)


@part
def _citation_end(data: Array, start: int, end: int, flags_of: Array) -> int:
    """Return the end of a citation such as `[12]`, `[]` or `[edit]`, or `start` without one."""
    place = start + 1
    while place < end:
        point, follows = point_at(data, place)
        if point == 93:
            return follows
        if point >= POINTS or flags_of[point] & DIGIT == 0:
            break
        place = follows
    if place > start + 1:
        return start
    for known in (_EDIT, _NEEDED):
        if _starts_with(data, place, end, known):
            return place + len(known)
    return start


@part
def _starts_with(data: Array, start: int, end: int, known: Array) -> bool:
    if start + len(known) > end:
        return False
    for step in range(len(known)):
        if data[start + step] != known[step]:
            return False
    return True


@part
def _ends_well(data: Array, start: int, end: int) -> Any:
    if start >= end:
        return False
    last = data[end - 1]
    if last == 46:
        return not (end - start >= 3 and data[end - 2] == 46 and data[end - 3] == 46)
    return last == 63 or last == 33 or last == 34 or last == 39


@part
def _count_sentences(data: Array, start: int, end: int) -> int:
    """Count the sentences of a line; text after the last end mark counts as one."""
    found, last, place = 0, -1, start
    while place < end:
        byte = data[place]
        if byte == 46 or byte == 33 or byte == 63:
            place, behind = _latin_sentence_end(data, place, end)
        elif byte == 0xE3 or byte == 0xEF:
            behind = _wide_sentence_end(data, place, end)
            if behind < 0:
                place += 3
        else:
            behind = -1
            place += 1
        if behind >= 0:
            found += 1
            last = place = behind
    return found + (last < end)


@part
def _latin_sentence_end(data: Array, place: int, end: int) -> tuple[int, int]:
    """Return the end of the marks, and the end of the sentence or -1 if the word continues."""
    while place < end and (data[place] == 46 or data[place] == 33 or data[place] == 63):
        place += 1
    behind = place
    while behind < end and (
        data[behind] == 34 or data[behind] == 39 or data[behind] == 41 or data[behind] == 93
    ):
        behind += 1
    if behind == end:
        return place, end
    width = space_at(data, behind)
    return place, _skip_spaces(data, behind, end) if width else -1


@part
def _skip_spaces(data: Array, place: int, end: int) -> int:
    while place < end:
        width = space_at(data, place)
        if width == 0:
            break
        place += width
    return place


@part
def _wide_sentence_end(data: Array, place: int, end: int) -> int:
    """Return the end of a sentence with a Chinese or Japanese end mark, or -1 if there is none."""
    marks = 0
    point, follows = point_at(data, place)
    while point == 0x3002 or point == 0xFF01 or point == 0xFF1F or point == 0xFF61:
        marks += 1
        place = follows
        if place >= end:
            break
        point, follows = point_at(data, place)
    if marks == 0:
        return -1
    while place < end:
        point, follows = point_at(data, place)
        if not _is_closing(point):
            break
        place = follows
    return _skip_spaces(data, place, end)


@part
def _is_closing(point: int) -> bool:
    if point < 0x80:
        return point == 34 or point == 39 or point == 41 or point == 93
    return (
        point == 0x300D or point == 0x300F or point == 0xFF09 or point == 0x201D or point == 0x2019
    )
