"""C4's line cleaning as a modifier: remove lines that are not prose, keep every document."""

from dataclasses import dataclass

from curator_text.document_text import DocumentText
from curator_text.filters.c4 import C4QualityFilter
from curator_text.modifiers.base import TextRewriter


@dataclass
class C4LineCleaner(TextRewriter):
    """Removes lines that are not prose, like `C4QualityFilter`; keeps all documents.

    White space around lines is removed too. If no line is left, the text becomes empty, and any
    later text filter drops it.
    """

    remove_citations: bool = True
    """Remove `[12]`, `[]`, `[edit]` and `[citation needed]`."""

    filter_no_terminal_punct: bool = True
    """Remove lines that do not end with `. ? ! " '`, or that end with `...`."""

    min_words_per_line: int = 3
    """Remove lines with fewer words; -1 allows any number."""

    max_word_length: int = 1000
    """Remove lines with a longer word; -1 allows any length."""

    filter_javascript: bool = True
    """Remove lines that mention JavaScript."""

    filter_policy: bool = True
    """Remove lines about cookies, privacy policies and terms of use."""

    def rewrite(self, text: str) -> str:
        return str(self._rules.edit(DocumentText(text)).text)

    @property
    def _rules(self) -> C4QualityFilter:
        """The filter without its rules that drop whole pages."""
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
