"""Judging documents by several rules at once, so that all of them share what one worked out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from curator_core.errors import place_of, reason_of
from curator_core.execution.timeouts import TaskTimeoutError
from curator_core.model.arrow import with_column
from curator_core.model.scores import Scores

from curator_text.columns import Raw
from curator_text.texts import Text

Score: TypeAlias = float | str | None
Said: TypeAlias = tuple[Score, str | None]
"""The score of a text, and why it goes, or None where it stays."""


class Rule(Protocol):
    """What a row of filters is judged by."""

    @property
    def score_kind(self) -> str | None:
        """The Arrow type of its scores, or None where they are not wanted."""

    @property
    def blank_reason(self) -> str | None:
        """Why texts go that are missing or blank, or None where they stay."""

    def judge(self, text: Text) -> Said:
        """What becomes of a text that is not blank."""


class Ending(NamedTuple):
    """How the way of a document ended. `failed`: the rule could not be asked about it."""

    reason: str
    failed: bool = False
    damaged: bool = False


@dataclass
class Verdicts:
    """What a row of rules said about the rows of a batch: for each one the first that ends it."""

    members: tuple[str, ...]
    """The tokens of the rules, in order."""
    rows: pa.Table
    """The position of the rule that ended the row in `by` (the number of rules where it stays),
    `how` as a position in `endings`, and scores by token."""
    endings: list[Ending]
    scores: dict[str, Scores] = field(default_factory=dict)
    """By token, of the rules that score in numbers: for the report."""

    def mask(self, token: str) -> pa.ChunkedArray:
        """Which rows stay after this rule."""
        return pc.not_equal(self.rows["by"], self.members.index(token))

    def ended(self, places: pa.ChunkedArray) -> Iterator[tuple[Ending, list[int]]]:
        """How the rows in these places ended, and which they are."""
        by_ending: dict[Ending, list[int]] = {}
        hows = self.rows["how"].take(places)
        for place, how in zip(places.to_pylist(), hows.to_pylist(), strict=True):
            by_ending.setdefault(self.endings[how], []).append(place)
        yield from by_ending.items()


def joined(verdicts: Sequence[Verdicts]) -> Verdicts:
    """Verdicts about batches that follow each other as if they were one."""
    if len(verdicts) == 1:
        return verdicts[0]
    tables: list[pa.Table] = []
    endings: list[Ending] = []
    scores: dict[str, Scores] = {}
    for one in verdicts:
        how = one.rows["how"]
        moved = pc.if_else(pc.less(how, 0), how, pc.add(how, len(endings)))
        tables.append(with_column(one.rows, "how", moved))
        endings += one.endings
        for token, more in one.scores.items():
            scores[token] = scores.get(token, Scores()).plus(more)
    return Verdicts(verdicts[0].members, pa.concat_tables(tables), endings, scores)


def judged(texts: Iterable[Raw], rules: Sequence[tuple[str, Rule]]) -> Verdicts:
    """Judge every text by the rules in turn, until one drops it.

    What a rule raises concerns that text only: it ends there, and the rule's stage will say so.
    """
    hearing = Hearing([rule for _, rule in rules])
    for raw in texts:
        hearing.hear(raw)
    return hearing.verdicts([token for token, _ in rules])


class Hearing:
    """Takes one text after another and writes down what becomes of it."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self._kept: list[list[Score]] = [[] for _ in rules]
        self._dropped: list[list[Score]] = [[] for _ in rules]
        self._judges = [(rule.judge, kept) for rule, kept in zip(rules, self._kept, strict=True)]
        self._scores: dict[int, list[Score]] = {
            place: [] for place, rule in enumerate(rules) if rule.score_kind is not None
        }
        self._by: list[int] = []
        self._how: list[int] = []
        self._endings: dict[Ending, int] = {}

    def hear(self, raw: Raw) -> None:
        self.note(*self._outcome(raw))

    def note(self, place: int, ending: Ending | None) -> None:
        """Write down which rule ended the next document's way, and how."""
        for scores in self._scores.values():
            if len(scores) == len(self._by):
                scores.append(None)
        self._by.append(place)
        number = -1
        if ending is not None:
            number = self._endings.setdefault(ending, len(self._endings))
        self._how.append(number)

    def _outcome(self, raw: Raw) -> tuple[int, Ending | None]:
        if isinstance(raw, UnicodeDecodeError):
            return 0, Ending(f"its text is no UTF-8: {raw.reason} at byte {raw.start}", True, True)
        if not raw or raw.isspace():
            return self._blank()
        return self._asked(Text(raw))

    def _blank(self) -> tuple[int, Ending | None]:
        for place, rule in enumerate(self._rules):
            if rule.blank_reason is not None:
                return place, Ending(rule.blank_reason)
        return len(self._rules), None

    def _asked(self, text: Text) -> tuple[int, Ending | None]:
        place = 0
        scores = self._scores
        try:
            for place, (judge, kept) in enumerate(self._judges):
                score, reason = judge(text)
                if place in scores:
                    scores[place].append(score)
                if reason is not None:
                    self._dropped[place].append(score)
                    return place, Ending(reason)
                kept.append(score)
        except TaskTimeoutError:  # concerns the call
            raise
        except Exception as error:  # noqa: BLE001 - the border to a rule's code
            return place, Ending(reason_of(error) + place_of(error), True)
        return len(self._judges), None

    def verdicts(self, tokens: Sequence[str]) -> Verdicts:
        columns = {
            "by": pa.array(self._by, pa.int32()),
            "how": pa.array(self._how, pa.int64()),
        }
        for place, scores in self._scores.items():
            kind = pa.type_for_alias(self._rules[place].score_kind)
            columns[tokens[place]] = pa.array(scores, kind)
        told = {
            token: scores_of(kept, dropped)
            for token, kept, dropped in zip(tokens, self._kept, self._dropped, strict=False)
        }
        return Verdicts(tuple(tokens), pa.table(columns), list(self._endings), told)


def scores_of(kept: Sequence[Score], dropped: Sequence[Score]) -> Scores:
    """Of a rule that scores in numbers. Many score nothing: then the first says so."""
    first = next((score for score in (*kept[:9], *dropped[:9]) if score is not None), None)
    return Scores.of(kept, dropped) if isinstance(first, int | float) else Scores()
