"""Decisions of the rule sets from counts, with the same reasons as the sets themselves."""

from typing import Any

import numpy as np

from curator_text.compiled import blocks, characters, lines, runs, words
from curator_text.compiled.kernels import Array
from curator_text.compiled.opinions import Asked, Opinion, first_reason
from curator_text.compiled.subjects import (
    Blocks,
    Characters,
    Lines,
    NumberOfWords,
    Runs,
    SplitLines,
    Words,
)
from curator_text.sets.c4_paragraphs import C4ParagraphFilter
from curator_text.sets.fineweb import FineWebQualityFilter
from curator_text.sets.gopher_quality import GopherQualityFilter
from curator_text.sets.gopher_repetition import GopherRepetitionFilter


class GopherQuality:
    def fits(self, rule: GopherQualityFilter) -> bool:
        return rule.words == "whitespace" and words.fits_packed(rule.stops)

    def opinion(self, rule: GopherQualityFilter, asked: Asked) -> Opinion:
        subject = Words(rule.stops)
        counts = asked.counts(subject)
        found = [
            *_wrong_size(rule, counts),
            *_symbols(rule, counts, asked.counts(Characters())),
            *_lists(rule, asked.counts(SplitLines())),
            *_odd_words(rule, counts),
        ]
        return first_reason(len(asked.rows), found)


def _wrong_size(rule: GopherQualityFilter, counts: Array) -> list[tuple[str, Array]]:
    solid = counts[:, words.SOLID]
    with np.errstate(invalid="ignore"):
        mean = counts[:, words.SOLID_LETTERS] / solid  # NaN without words
    return [
        ("gopher_short_doc", solid < (rule.min_doc_words or 0)),
        ("gopher_long_doc", solid > (rule.max_doc_words or np.inf)),
        ("gopher_below_avg_threshold", mean < (rule.min_avg_word_length or 0)),
        ("gopher_above_avg_threshold", mean > (rule.max_avg_word_length or np.inf)),
    ]


def _symbols(rule: GopherQualityFilter, counts: Array, signs: Array) -> list[tuple[str, Array]]:
    most = rule.max_symbol_word_ratio
    if not most:
        return []
    every = counts[:, words.WORDS]
    return [
        ("gopher_too_many_hashes", signs[:, characters.HASHES] / every > most),
        ("gopher_too_many_ellipsis", signs[:, characters.ELLIPSES] / every > most),
    ]


def _lists(rule: GopherQualityFilter, counts: Array) -> list[tuple[str, Array]]:
    every = counts[:, lines.SPLIT]
    found = []
    if rule.max_bullet_lines_ratio:
        bulleted = counts[:, lines.SPLIT_BULLETED] / every > rule.max_bullet_lines_ratio
        found.append(("gopher_too_many_bullets", bulleted))
    if rule.max_ellipsis_lines_ratio:
        cut_off = counts[:, lines.SPLIT_CUT_OFF] / every > rule.max_ellipsis_lines_ratio
        found.append(("gopher_too_many_end_ellipsis", cut_off))
    return found


def _odd_words(rule: GopherQualityFilter, counts: Array) -> list[tuple[str, Array]]:
    found = []
    if rule.max_non_alpha_words_ratio:
        share = counts[:, words.ALPHABETIC] / counts[:, words.WORDS]
        found.append(("gopher_below_alpha_threshold", share < rule.max_non_alpha_words_ratio))
    if rule.min_stop_words:
        found.append(("gopher_enough_stop_words", counts[:, words.STOPS] < rule.min_stop_words))
    return found


class GopherRepetition:
    def fits(self, rule: GopherRepetitionFilter) -> bool:
        lengths = [length for length, _ in (*rule.top_n_grams, *rule.dup_n_grams)]
        return rule.words == "whitespace" and min(lengths, default=1) >= 1

    def opinion(self, rule: GopherRepetitionFilter, asked: Asked) -> Opinion:
        letters = asked.counts(Characters())[:, characters.CHARS]
        paragraphs = asked.counts(Blocks(blocks.PARAGRAPHS_APART))
        apart = asked.counts(Blocks(blocks.LINES_APART))
        found = [
            *_repeated("dup_para", rule.dup_para_frac, rule.dup_para_char_frac)(
                paragraphs, letters
            ),
            *_repeated("dup_line", rule.dup_line_frac, rule.dup_line_char_frac)(apart, letters),
            *_phrases(rule, asked, letters),
        ]
        return first_reason(len(asked.rows), found)


def _repeated(name: str, most: float | None, most_letters: float | None) -> Any:
    def found(counts: Array, letters: Array) -> list[tuple[str, Array]]:
        share = counts[:, blocks.REPEATED] / counts[:, blocks.BLOCKS]
        inside = counts[:, blocks.REPEATED_LETTERS] / letters
        is_any = counts[:, blocks.REPEATED] > 0
        return [
            (f"{name}_frac", is_any & (share > (most or np.inf))),
            (f"{name}_char_frac", is_any & (inside > (most_letters or np.inf))),
        ]

    return found


def _phrases(rule: GopherRepetitionFilter, asked: Asked, letters: Array) -> list[tuple[str, Array]]:
    lengths = sorted({length for length, _ in (*rule.top_n_grams, *rule.dup_n_grams)})
    if not lengths:
        return []
    counts = asked.counts(Runs(tuple(lengths)))
    found = []
    for length, most in rule.top_n_grams:
        one = counts[:, lengths.index(length)]
        top = (one[:, runs.LETTERS] + length - 1) * one[:, runs.TIMES]
        holds = (one[:, runs.WORDS] >= length) & (top / letters > most)
        found.append((f"top_{length}_gram", holds))
    for length, most in rule.dup_n_grams:
        inside = counts[:, lengths.index(length), runs.APART]
        found.append((f"duplicated_{length}_n_grams", inside / letters > most))
    return found


class FineWeb:
    def fits(self, rule: FineWebQualityFilter) -> bool:
        return rule.words == "whitespace" and rule.stop_chars is None

    def opinion(self, rule: FineWebQualityFilter, asked: Asked) -> Opinion:
        counts = asked.counts(Lines(short=rule.short_line_length))
        every = counts[:, lines.LINES]
        well = counts[:, lines.WELL_ENDED] / every
        unended = well < rule.line_punct_thr
        if rule.line_punct_exclude_zero:
            unended &= well > 0
        signs = asked.counts(Characters())
        breaks = signs[:, characters.BREAKS]
        repeated = asked.counts(Blocks(blocks.FULL_LINES))[:, blocks.REPEATED_LETTERS]
        share = repeated / (signs[:, characters.CHARS] - breaks)
        lists = breaks / asked.counts(NumberOfWords())[:, 0] > rule.new_line_ratio
        found = [
            ("line_punct_ratio", unended),
            ("short_line_ratio", counts[:, lines.SHORT] / every > rule.short_line_thr),
            ("char_dup_ratio", share > rule.char_duplicates_ratio),
            ("list_ratio", lists),
        ]
        return first_reason(len(asked.rows), found)


class C4Paragraphs:
    def fits(self, rule: C4ParagraphFilter) -> bool:
        return True

    def opinion(self, rule: C4ParagraphFilter, asked: Asked) -> Opinion:
        long = asked.counts(Lines(long=rule.min_paragraph_len))[:, lines.LONG]
        return first_reason(len(asked.rows), [(rule.blank_reason, long < rule.min_paragraphs)])
