"""The C4 rules on lines and pages (Raffel et al. 2020)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from curator_text.sets.editing import Edit, EditingRuleSet
from curator_text.sets.sentences import count_sentences, sentences
from curator_text.texts import Text

_CITATIONS = re.compile(r"\[(?:\d*|edit|citation needed)\]")
_END_MARKS = (".", "?", "!", '"', "'")
FILLER = "lorem ipsum"
SCRIPT = "javascript"
POLICY = (
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
_POLICY_SIGNS = ("cookie", "privacy policy", "terms of use")
_DROP_LINE = ""


@dataclass
class C4QualityFilter(EditingRuleSet):
    """Removes lines that are not prose, and drops pages with too little text left.

    Reasons: `too_few_sentences`, `lorem_ipsum`, `curly_bracket`. White space around lines is
    removed too. Words are separated by white space; a sentence ends with `.`, `!` or `?` before
    white space, or with a Chinese or Japanese end mark.
    """

    split_paragraph: bool = True
    """Judge line by line; otherwise judge by sentence and join the kept ones with spaces."""

    remove_citations: bool = True
    """Remove `[12]`, `[]`, `[edit]` and `[citation needed]`."""

    filter_no_terminal_punct: bool = True
    """Remove lines that do not end with `. ? ! " '`, or that end with `...`."""

    min_num_sentences: int = 5
    """Drop pages with fewer sentences left; -1 allows any number."""

    min_words_per_line: int = 3
    """Remove lines with fewer words; -1 allows any number."""

    max_word_length: int = 1000
    """Remove lines with a longer word; -1 allows any length."""

    filter_lorem_ipsum: bool = True
    """Drop pages that contain `lorem ipsum`."""

    filter_javascript: bool = True
    """Remove lines that mention JavaScript."""

    filter_curly_bracket: bool = True
    """Drop pages that contain `{`."""

    filter_policy: bool = True
    """Remove lines about cookies, privacy policies and terms of use."""

    blank_reason = "too_few_sentences"

    def edited(self, text: Text) -> Edit:
        lines = text.splitlines() if self.split_paragraph else sentences(text)
        is_suspect = self._is_suspect(text)
        kept = []
        for raw in lines:
            line = self._in_shape(raw)
            if line is None:
                continue
            said = self._said_of(line) if is_suspect else None
            if said:
                return Edit(text, said)
            if said is None:
                kept.append(line)
        if self._too_few_sentences(kept):
            return Edit(text, "too_few_sentences")
        return Edit(Text(("\n" if self.split_paragraph else " ").join(kept).strip()))

    def _in_shape(self, raw: str) -> str | None:
        """Return the cleaned line, or None if its words or its end rule it out."""
        line = raw.strip()
        fewest, longest = self.min_words_per_line, self.max_word_length
        # Stop splitting once there are enough words; only a long line can have a long word.
        if fewest > 0 and len(line.split(None, fewest - 1)) < fewest:
            return None
        if -1 != longest < len(line) and any(len(word) > longest for word in line.split()):
            return None
        if self.remove_citations and "[" in line:
            line = _CITATIONS.sub("", line)
        return None if self.filter_no_terminal_punct and not _ends_well(line) else line

    def _is_suspect(self, text: Text) -> bool:
        """Whether any line may contain a phrase that the rules look for: most pages have none."""
        if self.filter_curly_bracket and "{" in text:
            return True
        if self.remove_citations and "[" in text:
            lowered = _CITATIONS.sub("", text).lower()
        else:
            lowered = text.lowered
        return any(sign in lowered for sign in self._signs())

    def _signs(self) -> Iterable[str]:
        if self.filter_lorem_ipsum:
            yield FILLER
        if self.filter_javascript:
            yield SCRIPT
        if self.filter_policy:
            yield from _POLICY_SIGNS

    def _said_of(self, line: str) -> str | None:
        """Return the reason to drop the page, "" to remove only the line, or None to keep it."""
        lowered = line.lower()
        if self.filter_lorem_ipsum and FILLER in lowered:
            return "lorem_ipsum"
        if self.filter_javascript and SCRIPT in lowered:
            return _DROP_LINE
        if self.filter_curly_bracket and "{" in line:
            return "curly_bracket"
        about_policy = self.filter_policy and any(phrase in lowered for phrase in POLICY)
        return _DROP_LINE if about_policy else None

    def _too_few_sentences(self, lines: list[str]) -> bool:
        fewest = self.min_num_sentences
        if not self.split_paragraph:
            return len(lines) < fewest
        found = 0
        for line in lines:
            if found >= fewest:
                return False
            found += count_sentences(line, fewest - found)
        return found < fewest


def _ends_well(line: str) -> bool:
    return line.endswith(_END_MARKS) and not line.endswith("...")
