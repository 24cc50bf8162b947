"""Judge documents by several rules in one pass, so that the rules share what they compute."""

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
"""The score of a text and the reason to drop it (None to keep it)."""


class Rule(Protocol):
    """One rule in a row of filters."""

    @property
    def score_kind(self) -> str | None:
        """Return the Arrow type of the scores, or None if they are not stored."""

    @property
    def blank_reason(self) -> str | None:
        """Return the reason to drop a missing or blank text, or None to keep it."""

    def judge(self, text: Text) -> Said:
        """Judge a non-blank text."""


class Ending(NamedTuple):
    """Why a document was dropped.

    `failed`: the rule raised, or the text is unreadable.
    """

    reason: str
    failed: bool = False
    damaged: bool = False


@dataclass
class Verdicts:
    """The results of a row of rules for a batch: per row, the first rule to end it."""

    members: tuple[str, ...]
    """The tokens of the rules, in order."""
    rows: pa.Table
    """Columns: `by` is the position of the rule that ended the row (the number of rules if it is
    kept), `how` is an index into `endings` (-1 if it is kept), and scores are stored by token."""
    endings: list[Ending]
    scores: dict[str, Scores] = field(default_factory=dict)
    """Scores for the report by token, from rules that return numbers."""

    def mask(self, token: str) -> pa.ChunkedArray:
        """Return which rows this rule did not end."""
        return pc.not_equal(self.rows["by"], self.members.index(token))

    def ended(self, places: pa.ChunkedArray) -> Iterator[tuple[Ending, list[int]]]:
        """Group the rows at these positions by how they ended."""
        by_ending: dict[Ending, list[int]] = {}
        hows = self.rows["how"].take(places)
        for place, how in zip(places.to_pylist(), hows.to_pylist(), strict=True):
            by_ending.setdefault(self.endings[how], []).append(place)
        yield from by_ending.items()


def joined(verdicts: Sequence[Verdicts]) -> Verdicts:
    """Concatenate the verdicts of consecutive batches."""
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
    """Judge each text by the rules in turn, until one ends it.

    An exception in a rule ends that text only; the rule's stage reports it later.
    """
    hearing = Hearing([rule for _, rule in rules])
    for raw in texts:
        hearing.hear(raw)
    return hearing.verdicts([token for token, _ in rules])


class Hearing:
    """Judges texts one by one and records the results."""

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
        """Record which rule ended the next document, and why."""
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
        except TaskTimeoutError:  # applies to the whole call
            raise
        except Exception as error:  # noqa: BLE001 - a rule is user code
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
    """Collect the scores of a rule, or none if the first value found is not a number."""
    first = next((score for score in (*kept[:9], *dropped[:9]) if score is not None), None)
    return Scores.of(kept, dropped) if isinstance(first, int | float) else Scores()
