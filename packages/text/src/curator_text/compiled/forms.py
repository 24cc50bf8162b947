"""Forms: which rules have a compiled form.

A form applies to exactly one class. A subclass may change anything, so it runs in Python.
"""

from typing import Any

from curator_text.compiled import blocks, decisions, scores
from curator_text.compiled.opinions import Form
from curator_text.compiled.scores import Scored
from curator_text.filters import characters, lines, ngrams, repetition, urls, words
from curator_text.scoring import TextScore
from curator_text.sets.c4_paragraphs import C4ParagraphFilter
from curator_text.sets.fineweb import FineWebQualityFilter
from curator_text.sets.gopher_quality import GopherQualityFilter
from curator_text.sets.gopher_repetition import GopherRepetitionFilter


def form_of(rule: Any) -> Form | None:
    """Return the compiled form of a rule if it has one that supports its options."""
    form = FORMS.get(type(rule))
    return form if form is not None and form.fits(rule) else None


_full_lines, _paragraphs = blocks.FULL_LINES, blocks.PARAGRAPHS

FORMS: dict[type, Form] = {
    characters.NonAlphaNumericFilter: Scored(scores.non_alpha_numeric),
    characters.NumbersFilter: Scored(scores.digits),
    characters.WhiteSpaceFilter: Scored(scores.blanks),
    characters.ParenthesesFilter: Scored(scores.brackets),
    words.WordCountFilter: Scored(scores.word_count, scores.by_spaces),
    words.MeanWordLengthFilter: Scored(scores.mean_word_length, scores.by_spaces),
    words.LongWordFilter: Scored(scores.longest_word, scores.by_spaces),
    words.SymbolsToWordsFilter: Scored(scores.symbol_words, scores.by_spaces),
    words.WordsWithoutAlphabetsFilter: Scored(scores.lettered_words, scores.by_spaces),
    words.CommonEnglishWordsFilter: Scored(scores.common_words, scores.counts_one_at_least),
    lines.PunctuationFilter: Scored(scores.unended_lines),
    lines.BulletsFilter: Scored(scores.bulleted_lines),
    lines.EllipsisFilter: Scored(scores.cut_off_lines),
    lines.BoilerPlateStringFilter: Scored(scores.notices),
    urls.UrlsFilter: Scored(scores.url_letters, scores.knows_urls),
    urls.PornographicUrlsFilter: Scored(scores.obscene_urls, scores.knows_urls),
    repetition.RepeatedLinesFilter: Scored(scores.different_blocks(_full_lines)),
    repetition.RepeatedParagraphsFilter: Scored(scores.different_blocks(_paragraphs)),
    repetition.RepeatedLinesByCharFilter: Scored(scores.letters_in_different_blocks(_full_lines)),
    repetition.RepeatedParagraphsByCharFilter: Scored(
        scores.letters_in_different_blocks(_paragraphs)
    ),
    ngrams.RepeatingTopNGramsFilter: Scored(scores.top_runs, scores.is_run_of_words),
    ngrams.RepeatingDuplicateNGramsFilter: Scored(scores.repeated_runs, scores.is_run_of_words),
    GopherQualityFilter: decisions.GopherQuality(),
    GopherRepetitionFilter: decisions.GopherRepetition(),
    FineWebQualityFilter: decisions.FineWeb(),
    C4ParagraphFilter: decisions.C4Paragraphs(),
}
FORMS[TextScore] = scores.ScoreOnly(form_of)
