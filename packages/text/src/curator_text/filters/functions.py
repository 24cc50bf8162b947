"""Rules that are functions of one's own."""

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
    """What a function is called, where it has a name that a stage can have too."""
    inner = getattr(function, "func", function)  # of a functools.partial
    name = str(getattr(inner, "__name__", type(inner).__name__))
    return snake_case(name) if name.isidentifier() else None


@dataclass
class FunctionFilter(TextFilter):
    """Keeps the documents about whose text a function says something true.

    What it returns is the score, as a number. Whatever is neither 0, False nor NaN keeps the
    document. It is asked about no text that is missing or blank.
    """

    cost: ClassVar[float] = 200.0  # nobody knows; so the rules that are known come first

    function: Callable[[str], bool | float]
    """Takes a text, returns True or False, or a number."""

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
    """Keeps the documents about which a function of a whole column says something true.

    It is given the texts of a batch that are left when its turn comes, without those that are
    missing or blank: an Arrow column. It returns one value for each, in the same order.
    Where it fails, it is asked about each text alone, and only those that fail are set aside.
    """

    function: Callable[["pa.ChunkedArray"], Iterable[Any]]
    """Takes an Arrow column of texts; returns as many booleans or numbers: a column, or a list."""

    text_field: str = field(default="text", kw_only=True)
    """The column that holds the text."""

    score_field: str | None = field(default=None, kw_only=True)
    """A column for what it returned, as numbers, if that is to be kept."""

    invert: bool = field(default=False, kw_only=True)
    """Drop what would be kept, and keep what would be dropped."""

    def __post_init__(self) -> None:
        _demand_callable(self.function, "ColumnFilter")
        self.name = name_of(self.function) or self.name
        self._replies: Iterator[Any] = iter(())

    @property
    def blank_reason(self) -> str:
        says = f"rejected by {name_of(self.function) or 'the function'}"
        return f"not: {says}" if self.invert else says

    def joins(self, other: JudgingStage) -> bool:
        """What it says about one text may hang on the others that are left."""
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
        except Exception:  # noqa: BLE001 - the border to a user's function
            return [self._answer(text) for text in texts]

    def _answer(self, text: str) -> Any:
        try:
            return self._called([text])[0]
        except Exception as error:  # noqa: BLE001 - the border to a user's function
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
    """What a function returned cannot be told apart by texts."""


def _demand_callable(function: object, where: str) -> None:
    if not callable(function):
        raise PipelineError(f"{where} takes a function, but was given {function!r}")
