"""Scores of filters from counts, equal to the scores of the filters themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from curator_text.compiled import blocks, characters, lines, phrases, runs, words
from curator_text.compiled.kernels import Array
from curator_text.compiled.opinions import ASK, STAYS, Asked, Opinion
from curator_text.compiled.subjects import Blocks, Characters, Lines, Notices, Runs, Urls, Words
from curator_text.filtering import TextFilter
from curator_text.filters.ngrams import RepeatingDuplicateNGramsFilter, RepeatingTopNGramsFilter

Scorer: TypeAlias = Callable[[Any, Asked], Array]


def always(rule: Any) -> bool:
    return True


def by_spaces(rule: Any) -> bool:
    return bool(rule.words == "whitespace")


def counts_one_at_least(rule: Any) -> bool:
    return not rule.stop_at_false or rule.min_num_common_words >= 1


def knows_urls(rule: Any) -> bool:
    return rule.url_regex is None


def is_run_of_words(rule: Any) -> bool:
    return by_spaces(rule) and rule.n >= 1


@dataclass(frozen=True)
class Scored:
    """A filter that scores all rows at once; Python computes the scores that are NaN here."""

    scores: Scorer
    fits: Callable[[Any], bool] = always

    def opinion(self, rule: TextFilter, asked: Asked) -> Opinion:
        scores = np.asarray(self.scores(rule, asked), np.float64)
        said = np.fromiter(map(rule.keeps, scores.tolist()), np.bool_, len(scores))
        codes = np.where(said != rule.invert, STAYS, 0)
        codes[np.isnan(scores)] = ASK
        return Opinion(codes, [rule.blank_reason], scores)


@dataclass(frozen=True)
class ScoreOnly:
    """`Score` of a filter with a compiled form."""

    form_of: Callable[[Any], Any]

    def fits(self, rule: Any) -> bool:
        return rule.score_type == "double" and isinstance(self.form_of(rule.rule), Scored)

    def opinion(self, rule: Any, asked: Asked) -> Opinion:
        scores = np.asarray(self.form_of(rule.rule).scores(rule.rule, asked), np.float64)
        return Opinion(np.where(np.isnan(scores), ASK, STAYS), [], scores)


def share_of(counts: Array, part: int, whole: int) -> Array:
    found: Array = counts[:, part] / counts[:, whole]
    return found


def non_alpha_numeric(rule: Any, asked: Asked) -> Array:
    counts = asked.counts(Characters())
    found: Array = (counts[:, characters.CHARS] - counts[:, characters.PLAIN]) / counts[
        :, characters.CHARS
    ]
    return found


def digits(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Characters()), characters.DIGITS, characters.CHARS)


def blanks(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Characters()), characters.BLANKS, characters.CHARS)


def brackets(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Characters()), characters.BRACKETS, characters.CHARS)


def word_count(rule: Any, asked: Asked) -> Array:
    return asked.counts(Words())[:, words.WORDS]


def mean_word_length(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Words()), words.LETTERS, words.WORDS)


def longest_word(rule: Any, asked: Asked) -> Array:
    return asked.counts(Words())[:, words.LONGEST]


def symbol_words(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Words()), words.SYMBOLS, words.WORDS)


def lettered_words(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Words()), words.LETTERED, words.WORDS)


def common_words(rule: Any, asked: Asked) -> Array:
    found = asked.counts(Words())[:, words.COMMON]
    return np.minimum(found, rule.min_num_common_words) if rule.stop_at_false else found


def unended_lines(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Lines()), lines.UNENDED, lines.LINES)


def bulleted_lines(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Lines()), lines.BULLETED, lines.LINES)


def cut_off_lines(rule: Any, asked: Asked) -> Array:
    return share_of(asked.counts(Lines()), lines.CUT_OFF, lines.LINES)


def notices(rule: Any, asked: Asked) -> Array:
    counts = asked.counts(Notices())
    scores = share_of(counts, phrases.NOTICES, phrases.PARTS)
    scores[counts[:, phrases.FILLER] != 0] = 1.0
    scores[counts[:, phrases.UNSURE] != 0] = np.nan
    return scores


def url_letters(rule: Any, asked: Asked) -> Array:
    found = asked.counts(Urls())[:, phrases.URL_LETTERS]
    return np.asarray(found / asked.counts(Characters())[:, characters.CHARS])


def obscene_urls(rule: Any, asked: Asked) -> Array:
    return asked.counts(Urls())[:, phrases.OBSCENE]


def different_blocks(kind: int) -> Scorer:
    def scores(rule: Any, asked: Asked) -> Array:
        counts = asked.counts(Blocks(kind))
        return np.asarray((counts[:, 0] - counts[:, blocks.REPEATED]) / counts[:, blocks.BLOCKS])

    return scores


def letters_in_different_blocks(kind: int) -> Scorer:
    def scores(rule: Any, asked: Asked) -> Array:
        counts = asked.counts(Blocks(kind))
        every = counts[:, blocks.BLOCK_LETTERS]
        return np.asarray((every - counts[:, blocks.REPEATED_LETTERS]) / every)

    return scores


def _runs_for(asked: Asked) -> Runs:
    """Return one search for all n-gram rules of the row."""
    kinds = (RepeatingTopNGramsFilter, RepeatingDuplicateNGramsFilter)
    every = [getattr(rule, "rule", rule) for rule in asked.rules]
    found = [rule for rule in every if type(rule) in kinds and is_run_of_words(rule)]
    counted = {rule.n for rule in found if type(rule) is RepeatingTopNGramsFilter}
    return Runs(tuple(sorted({rule.n for rule in found})), tuple(sorted(counted)))


def _run_counts(rule: Any, asked: Asked) -> Array:
    subject = _runs_for(asked)
    return asked.counts(subject)[:, subject.lengths.index(rule.n)]


def top_runs(rule: Any, asked: Asked) -> Array:
    counts = _run_counts(rule, asked)
    times = counts[:, runs.COUNTED]
    letters = counts[:, runs.LETTERS] + rule.n - 1
    scores = times * letters / asked.counts(Characters())[:, characters.CHARS]
    scores[times < 0] = np.nan
    scores[counts[:, runs.WORDS] < rule.n] = 1.0
    return np.asarray(scores)


def repeated_runs(rule: Any, asked: Asked) -> Array:
    counts = _run_counts(rule, asked)
    scores = counts[:, runs.OVERLAPPING] / asked.counts(Characters())[:, characters.CHARS]
    scores[counts[:, runs.WORDS] < rule.n] = 1.0
    return np.asarray(scores)
