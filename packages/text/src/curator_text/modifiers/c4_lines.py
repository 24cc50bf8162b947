"""C4's cleaning of lines by itself: what is no prose goes, and every document stays."""

from dataclasses import dataclass

from curator_text.modifying import TextRewriter
from curator_text.sets.c4_quality import C4QualityFilter
from curator_text.texts import Text


@dataclass
class C4LineCleaner(TextRewriter):
    """Takes out lines that are no prose, as `C4QualityFilter` does, but drops no document.

    White space around lines goes, too. A text of which nothing is left is empty: a filter behind
    this one drops it.
    """

    remove_citations: bool = True
    """Take out `[12]`, `[]`, `[edit]` and `[citation needed]`."""

    filter_no_terminal_punct: bool = True
    """Take out lines that do not end with `. ? ! " '`, or end with `...`."""

    min_words_per_line: int = 3
    """Take out lines with fewer words; -1 for any number."""

    max_word_length: int = 1000
    """Take out lines with a longer word; -1 for any length."""

    filter_javascript: bool = True
    """Take out lines that name JavaScript."""

    filter_policy: bool = True
    """Take out lines about cookies, privacy policies and terms of use."""

    def rewrite(self, text: str) -> str:
        return str(self._rules.edited(Text(text)).text)

    @property
    def _rules(self) -> C4QualityFilter:
        """The filter, without what it drops pages for."""
        return C4QualityFilter(
            remove_citations=self.remove_citations,
            filter_no_terminal_punct=self.filter_no_terminal_punct,
            min_num_sentences=-1,
            min_words_per_line=self.min_words_per_line,
            max_word_length=self.max_word_length,
            filter_lorem_ipsum=False,
            filter_javascript=self.filter_javascript,
            filter_curly_bracket=False,
            filter_policy=self.filter_policy,
        )
