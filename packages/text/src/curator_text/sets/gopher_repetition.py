"""The Gopher rules on repetition (Rae et al. 2021, table A1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from curator_text.sets.repetitions import Repetitions, duplicates
from curator_text.sets.rules import WordRuleSet
from curator_text.texts import Text

NGramShares = tuple[tuple[int, float], ...]


@dataclass
class GopherRepetitionFilter(WordRuleSet):
    """Drops texts that repeat their paragraphs, lines or phrases too much.

    Reasons: `dup_para_frac`, `dup_para_char_frac`, `dup_line_frac`, `dup_line_char_frac`,
    `top_2_gram` …, `duplicated_5_n_grams` …; a blank text is `empty`. All except `dup_para_frac`
    and `dup_line_frac` are shares of characters.
    """

    dup_line_frac: float | None = 0.3
    """Maximum share of lines that repeat an earlier line; None for no limit."""

    dup_para_frac: float | None = 0.3
    """Maximum share of paragraphs that repeat an earlier paragraph; None for no limit."""

    dup_line_char_frac: float | None = 0.2
    """Maximum share of characters in repeated lines; None for no limit."""

    dup_para_char_frac: float | None = 0.2
    """Maximum share of characters in repeated paragraphs; None for no limit."""

    top_n_grams: NGramShares = ((2, 0.2), (3, 0.18), (4, 0.16))
    """Pairs of n and the maximum share of characters in the most frequent n-gram."""

    dup_n_grams: NGramShares = (
        (5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10),
    )  # fmt: skip
    """Pairs of n and the maximum share of characters in n-grams that repeat earlier ones."""

    blank_reason = "empty"

    def check(self) -> Iterable[str]:
        yield from super().check()
        for option in ("top_n_grams", "dup_n_grams"):
            for length, _ in getattr(self, option):
                if length < 1:
                    yield f"{option} names {length}-grams, but n must be 1 at least"

    def why_not(self, text: Text) -> str | None:
        return self._repeated_blocks(text) or self._repeated_phrases(text)

    def _repeated_blocks(self, text: Text) -> str | None:
        chars = len(text)
        paragraphs = _paragraphs(text)
        number, inside = duplicates(paragraphs)
        if number:
            if _exceeds(number / len(paragraphs), self.dup_para_frac):
                return "dup_para_frac"
            if _exceeds(inside / chars, self.dup_para_char_frac):
                return "dup_para_char_frac"
        lines = _lines(text)
        number, inside = duplicates(lines)
        if number:
            if _exceeds(number / len(lines), self.dup_line_frac):
                return "dup_line_frac"
            if _exceeds(inside / chars, self.dup_line_char_frac):
                return "dup_line_char_frac"
        return None

    def _repeated_phrases(self, text: Text) -> str | None:
        chars = len(text)
        wording = text.worded(self.words)
        repetitions = Repetitions(wording)
        for length, share in self.top_n_grams:
            if length > len(wording.words):
                continue
            if repetitions.top_chars_at_most(length) / chars <= share:
                continue
            if repetitions.top_chars(length) / chars > share:
                return f"top_{length}_gram"
        for length, share in self.dup_n_grams:
            if repetitions.duplicate_chars(length) / chars > share:
                return f"duplicated_{length}_n_grams"
        return None


def _exceeds(share: float, most: float | None) -> bool:
    return share > (most or inf)


def _paragraphs(text: str) -> list[str]:
    """Split a text at two or more line breaks."""
    if "\n\n" not in text:
        return [text]
    pieces = [piece.lstrip("\n") for piece in text.strip().split("\n\n")]
    return list(filter(None, pieces))  # empty pieces come from longer runs of line breaks


def _lines(text: str) -> list[str]:
    """Split a text at one or more line breaks; an empty line at either end counts."""
    lines = text.split("\n")
    if "\n\n" not in text:
        return lines
    return [*lines[: not lines[0]], *filter(None, lines), *lines[len(lines) - (not lines[-1]) :]]
