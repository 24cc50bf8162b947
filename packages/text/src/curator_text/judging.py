"""Judging documents by several rules at once, so that all of them share what one worked out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from curator_text.texts import Text

Score = float | None


class Rule(Protocol):
    """What a row of filters is judged by."""

    def judge(self, text: Text) -> tuple[Score, str | None]:
        """The score of a text that is not blank, and why it goes, or None where it stays."""

    @property
    def blank_reason(self) -> str:
        """Why texts go that are missing or blank."""


@dataclass
class Verdicts:
    """What a row of rules said about the rows of a batch: for each one the first that drops it."""

    members: tuple[str, ...]
    """The tokens of the rules, in order."""
    dropped_by: list[int]
    """For each row the position of the rule, or the number of rules where the row stays."""
    reasons: list[str | None]
    scores: dict[str, list[Score]]
    """By token, for the rules whose score is wanted; None where it was not needed any more."""

    def has(self, token: str | None) -> bool:
        return token in self.members

    def mask(self, token: str) -> list[bool]:
        """Which rows stay after this rule."""
        place = self.members.index(token)
        return [dropper != place for dropper in self.dropped_by]

    def only(self, mask: Sequence[bool]) -> "Verdicts":
        """The same about the rows that are left."""
        return Verdicts(
            self.members,
            [one for one, stays in zip(self.dropped_by, mask, strict=True) if stays],
            [one for one, stays in zip(self.reasons, mask, strict=True) if stays],
            {
                token: [one for one, stays in zip(scores, mask, strict=True) if stays]
                for token, scores in self.scores.items()
            },
        )


def judged(
    texts: Sequence[str | None], rules: Sequence[tuple[str, Rule]], wanted: frozenset[str]
) -> Verdicts:
    """Judge every text by the rules in turn, until one drops it.

    An error of the first rule is raised. One of a later rule ends the row before that rule,
    which will meet it again when its own turn comes.
    """
    members = [token for token, _ in rules]
    ends = len(rules)
    dropped_by: list[int] = []
    reasons: list[str | None] = []
    scores: dict[str, list[Score]] = {token: [] for token in members if token in wanted}
    for row, raw in enumerate(texts):
        text = None if raw is None or not raw or raw.isspace() else Text(raw)
        dropper, reason = ends, None
        for place in range(ends):
            token, rule = rules[place]
            try:
                score, reason = (None, rule.blank_reason) if text is None else rule.judge(text)
            except Exception:
                if not place:
                    raise
                dropper = ends = place
                break
            if token in scores:
                scores[token].append(score)
            if reason is not None:
                dropper = place
                break
        dropped_by.append(dropper)
        reasons.append(reason)
        for column in scores.values():
            column.extend([None] * (row + 1 - len(column)))
    return _cut(Verdicts(tuple(members), dropped_by, reasons, scores), ends)


def _cut(verdicts: Verdicts, ends: int) -> Verdicts:
    """Forget what rules said that stand behind one that could not be asked."""
    members = verdicts.members[:ends]
    for row, dropper in enumerate(verdicts.dropped_by):
        if dropper >= ends:
            verdicts.dropped_by[row] = len(members)
            verdicts.reasons[row] = None
    kept = {token: scores for token, scores in verdicts.scores.items() if token in members}
    return Verdicts(members, verdicts.dropped_by, verdicts.reasons, kept)
