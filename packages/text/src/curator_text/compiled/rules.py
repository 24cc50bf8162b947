"""The rules that have kernels: scores and decisions from counts, equal to those in Python.

A filter's function returns the score of each row. A rule set's function returns the rows that break
each of its rules, in order.
"""

from typing import Any, TypeAlias

import numpy as np

from curator_text.compiled import blocks, characters, lines, ngrams, phrases, words
from curator_text.compiled.counts import ColumnCounts
from curator_text.compiled.kernels import Array
from curator_text.document_text import DocumentText

Broken: TypeAlias = list[tuple[str, Array]]
"""Reasons, each with the rows to which it applies."""


def _share(counts: Array, part: int, whole: int) -> Array:
    share: Array = counts[:, part] / counts[:, whole]
    return share


def non_alpha_numeric(rule: Any, counts: ColumnCounts) -> Array:
    found = counts.characters()
    number = found[:, characters.CHARS]
    return np.asarray((number - found[:, characters.PLAIN]) / number)


def digits(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.characters(), characters.DIGITS, characters.CHARS)


def white_space(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.characters(), characters.BLANKS, characters.CHARS)


def brackets(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.characters(), characters.BRACKETS, characters.CHARS)


def word_count(rule: Any, counts: ColumnCounts) -> Array:
    return np.asarray(counts.words()[:, words.WORDS])


def mean_word_length(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.words(), words.CHARS, words.WORDS)


def longest_word(rule: Any, counts: ColumnCounts) -> Array:
    return np.asarray(counts.words()[:, words.LONGEST])


def symbol_words(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.words(), words.SYMBOLS, words.WORDS)


def words_with_letters(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.words(), words.WITH_LETTER, words.WORDS)


def common_words(rule: Any, counts: ColumnCounts) -> Array:
    found = counts.words()[:, words.COMMON]
    return np.minimum(found, rule.min_num_common_words) if rule.stop_at_false else found


def lines_without_end_mark(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.lines(), lines.UNENDED, lines.LINES)


def bullet_lines(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.lines(), lines.BULLETED, lines.LINES)


def ellipsis_lines(rule: Any, counts: ColumnCounts) -> Array:
    return _share(counts.lines(), lines.CUT_OFF, lines.LINES)


def boilerplate(rule: Any, counts: ColumnCounts) -> Array:
    found = counts.boilerplate(rule.phrases)
    scores = _share(found, phrases.BOILERPLATE, phrases.PARAGRAPHS)
    scores[found[:, phrases.FILLER] != 0] = 1.0
    unsure = np.flatnonzero(found[:, phrases.UNSURE])
    texts = counts.buffer.texts(counts.rows[unsure])
    scores[unsure] = [rule.score(DocumentText(text)) for text in texts]
    return scores


def different_lines(rule: Any, counts: ColumnCounts, kind: int = blocks.FULL_LINES) -> Array:
    found = counts.blocks(kind)
    number = found[:, blocks.BLOCKS]
    return np.asarray((number - found[:, blocks.REPEATED]) / number)


def different_paragraphs(rule: Any, counts: ColumnCounts) -> Array:
    return different_lines(rule, counts, blocks.PARAGRAPHS)


def characters_in_different_lines(
    rule: Any, counts: ColumnCounts, kind: int = blocks.FULL_LINES
) -> Array:
    found = counts.blocks(kind)
    total = found[:, blocks.BLOCK_CHARS]
    return np.asarray((total - found[:, blocks.REPEATED_CHARS]) / total)


def characters_in_different_paragraphs(rule: Any, counts: ColumnCounts) -> Array:
    return characters_in_different_lines(rule, counts, blocks.PARAGRAPHS)


def top_ngram(rule: Any, counts: ColumnCounts) -> Array:
    found = counts.ngrams_of_length(rule.n)
    sizes = found[:, ngrams.CHARS] + rule.n - 1
    times = np.zeros(len(found), np.int64)
    has_enough = found[:, ngrams.WORDS] >= rule.n
    for row in np.flatnonzero(has_enough).tolist():
        start, end = found[row, [ngrams.TOP_START, ngrams.TOP_END]].tolist()
        times[row] = counts.occurrences(row, start, end)
    scores = times * sizes / counts.characters()[:, characters.CHARS]
    return np.where(has_enough, scores, 1.0)


def repeated_ngrams(rule: Any, counts: ColumnCounts) -> Array:
    found = counts.ngrams_of_length(rule.n)
    scores = found[:, ngrams.OVERLAPPING] / counts.characters()[:, characters.CHARS]
    return np.where(found[:, ngrams.WORDS] >= rule.n, scores, 1.0)


def gopher_quality(rule: Any, counts: ColumnCounts) -> Broken:
    found, marks = counts.words(rule.stops), counts.characters()
    split = counts.split_lines()
    number, solid = found[:, words.WORDS], found[:, words.SOLID]
    with np.errstate(invalid="ignore"):
        mean = found[:, words.SOLID_CHARS] / solid  # NaN without words
    broken = [
        ("gopher_short_doc", solid < (rule.min_doc_words or 0)),
        ("gopher_long_doc", solid > (rule.max_doc_words or np.inf)),
        ("gopher_below_avg_threshold", mean < (rule.min_avg_word_length or 0)),
        ("gopher_above_avg_threshold", mean > (rule.max_avg_word_length or np.inf)),
    ]
    shares = (
        ("too_many_hashes", rule.max_symbol_word_ratio, marks[:, characters.HASHES], number),
        ("too_many_ellipsis", rule.max_symbol_word_ratio, marks[:, characters.ELLIPSES], number),
        ("too_many_bullets", rule.max_bullet_lines_ratio, split[:, lines.SPLIT_BULLETED],
         split[:, lines.SPLIT]),
        ("too_many_end_ellipsis", rule.max_ellipsis_lines_ratio, split[:, lines.SPLIT_CUT_OFF],
         split[:, lines.SPLIT]),
    )  # fmt: skip
    broken += [(f"gopher_{name}", part / all_ > most) for name, most, part, all_ in shares if most]
    if least := rule.max_non_alpha_words_ratio:
        broken.append(("gopher_below_alpha_threshold", found[:, words.ALPHABETIC] / number < least))
    if rule.min_stop_words:
        broken.append(("gopher_enough_stop_words", found[:, words.STOPS] < rule.min_stop_words))
    return broken


def gopher_repetition(rule: Any, counts: ColumnCounts) -> Broken:
    total = counts.characters()[:, characters.CHARS]
    broken: Broken = []
    for name, kind, most, most_chars in (
        ("dup_para", blocks.PARAGRAPHS_APART, rule.dup_para_frac, rule.dup_para_char_frac),
        ("dup_line", blocks.LINES_APART, rule.dup_line_frac, rule.dup_line_char_frac),
    ):
        found = counts.blocks(kind)
        repeated = found[:, blocks.REPEATED]
        share = repeated / found[:, blocks.BLOCKS]
        inside = found[:, blocks.REPEATED_CHARS] / total
        broken.append((f"{name}_frac", (repeated > 0) & (share > (most or np.inf))))
        broken.append((f"{name}_char_frac", (repeated > 0) & (inside > (most_chars or np.inf))))
    lengths = sorted({length for length, _ in (*rule.top_n_grams, *rule.dup_n_grams)})
    if not lengths:
        return broken
    runs = counts.ngrams(tuple(lengths))
    for length, most in rule.top_n_grams:
        one = runs[:, lengths.index(length)]
        top = (one[:, ngrams.CHARS] + length - 1) * one[:, ngrams.TIMES]
        too_many = (one[:, ngrams.WORDS] >= length) & (top / total > most)
        broken.append((f"top_{length}_gram", too_many))
    for length, most in rule.dup_n_grams:
        inside = runs[:, lengths.index(length), ngrams.APART]
        broken.append((f"duplicated_{length}_n_grams", inside / total > most))
    return broken
