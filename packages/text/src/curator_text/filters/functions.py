"""Rules from user functions."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

from curator_core import AnyStage
from curator_core.errors import PipelineError
from curator_core.model.rule_options import answer_of
from curator_core.model.stages import snake_case

from curator_text.chosen_rows import Rows
from curator_text.columns import each_text
from curator_text.filtering import JudgingStage, TextFilter
from curator_text.judging import Said, Verdicts, judged
from curator_text.texts import Text

if TYPE_CHECKING:
    import pyarrow as pa


def name_of(function: object) -> str | None:
    """Return the function's name if it is valid as a stage name."""
    inner = getattr(function, "func", function)  # of a functools.partial
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return snake_case(name) if name.isidentifier() else None


@dataclass
class FunctionFilter(TextFilter):
    """Keeps documents for whose text a function returns a true value.

    Its result, as a number, is the score. Any value except 0, False and NaN keeps the document. The
    function never gets a missing or blank text.
    """

    cost: ClassVar[float] = 200.0  # unknown, so filters with a known cost run first

    function: Callable[[str], bool | float]
    """Takes a text; returns True, False or a number."""

    def __post_init__(self) -> None:
        _demand_callable(self.function, "FunctionFilter")
        self.name = name_of(self.function) or self.name

    @property
    def reason(self) -> str:
        return f"rejected by {name_of(self.function) or 'the function'}"

    def score(self, text: Text) -> float:
        return float(answer_of(self.function, text))

    def keeps(self, score: float) -> bool:
        return bool(score) and not math.isnan(score)


@dataclass
class ColumnFilter(JudgingStage):
    """Keeps documents by a function of a whole column.

    The function gets an Arrow column of a batch's remaining texts, without missing and blank ones.
    It returns one value per text, in the same order. If it fails, it is called for each text alone,
    and only the texts that fail are quarantined.
    """

    function: Callable[["pa.ChunkedArray"], Iterable[Any]]
    """Takes an Arrow column of texts; returns one boolean or number per text, as a column or
    list."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, kw_only=True)
    """A column for the returned values as numbers, if they should be kept."""

    invert: bool = field(default=False, kw_only=True)
    """Invert the rule: drop the documents that it would keep, and keep the others."""

    def __post_init__(self) -> None:
        _demand_callable(self.function, "ColumnFilter")
        self.name = name_of(self.function) or self.name
        self._replies: Iterator[Any] = iter(())

    @property
    def blank_reason(self) -> str:
        says = f"rejected by {name_of(self.function) or 'the function'}"
        return f"not: {says}" if self.invert else says

    def joins(self, other: JudgingStage) -> bool:
        """Never join a row: the result for a text may depend on which other texts remain."""
        return False

    def followed_by(self, stages: Sequence[AnyStage]) -> Self:
        self.token()
        return copy(self)

    def judge(self, text: Text) -> Said:
        reply = next(self._replies)
        if isinstance(reply, Exception):
            raise reply
        score = None if reply is None else float(reply)
        keeps = score is not None and bool(score) and not math.isnan(score)
        stays = score is not None and keeps != self.invert
        return score, None if stays else self.blank_reason

    def ask(self, rows: Rows) -> Verdicts:
        texts = list(each_text(rows.texts(self.text_field)))
        asked = [text for text in texts if isinstance(text, str) and text and not text.isspace()]
        self._replies = iter(self._answers(asked))
        return judged(texts, [(self.token(), self)])

    def _answers(self, texts: list[str]) -> list[Any]:
        if not texts:
            return []
        try:
            return self._called(texts)
        except _WrongCountError:
            raise
        except Exception:  # noqa: BLE001 - runs a user's function
            return [self._answer(text) for text in texts]

    def _answer(self, text: str) -> Any:
        try:
            return self._called([text])[0]
        except Exception as error:  # noqa: BLE001 - runs a user's function
            return error

    def _called(self, texts: list[str]) -> list[Any]:
        import pyarrow as pa

        replies = self.function(pa.chunked_array([pa.array(texts, pa.large_string())]))
        listed = replies.to_pylist() if hasattr(replies, "to_pylist") else list(replies)
        if len(listed) != len(texts):
            raise _WrongCountError(
                f"{name_of(self.function) or 'the function'} gave {len(listed)} values for "
                f"{len(texts)} texts; it must give one for each"
            )
        return listed


class _WrongCountError(PipelineError):
    """The function returned a wrong number of values."""


def _demand_callable(function: object, where: str) -> None:
    if not callable(function):
        raise PipelineError(f"{where} takes a function, but was given {function!r}")
