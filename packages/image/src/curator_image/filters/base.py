"""Base classes of picture filters: score each picture and decide by its score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from curator_core import Dropped, ProcessingStage, Rejected
from curator_core.errors import CuratorError, TaskTimeoutError, reason_of, user_code_location
from curator_core.model.scores import Scores, attach_scores

from curator_image.decoding import ImageDecodeError
from curator_image.filters.picture import Picture
from curator_image.image_batch import IMAGE, OWN_COLUMNS, ImageBatch, PixelsOrError
from curator_image.pixel_view import WORKING, View

_PICTURES_KEY = "curator_image.pictures"

Outcomes = list[ImageBatch | Dropped | Rejected]


@dataclass(frozen=True)
class ScoredBatch:
    """The scored pictures with their scores, and the rejected ones."""

    batch: ImageBatch
    scores: list[Any]
    rejected: list[Rejected]


def score_pictures(
    batch: ImageBatch, view: View | None, rule: Callable[[Picture], Any]
) -> ScoredBatch:
    """Apply a rule to each picture. Without a view, pixels are not decoded."""
    pictures = cached_pictures(batch)
    scores: list[Any] = []
    failed: dict[int, Exception] = {}
    for row, seen in enumerate(_pixels_per_row(batch, view)):
        try:
            scores.append(_score_picture(pictures[row], seen, rule))
        except TaskTimeoutError:  # concerns the whole call
            raise
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            failed[row] = (
                error.without_traceback()
                if isinstance(error, ImageDecodeError)
                else CuratorError(reason_of(error) + user_code_location(error))
            )
    good, rejected = batch.without(failed)
    stay = [picture for row, picture in enumerate(pictures) if row not in failed]
    return ScoredBatch(with_pictures(good, stay), scores, rejected)


def _pixels_per_row(batch: ImageBatch, view: View | None) -> Iterator[PixelsOrError | None]:
    if view is None:
        yield from [None] * batch.num_items
    else:
        yield from batch.pictures(view)


def _score_picture(
    picture: Picture, seen: PixelsOrError | None, rule: Callable[[Picture], Any]
) -> Any:
    if isinstance(seen, ImageDecodeError):
        raise seen.without_traceback()
    picture.show(seen)
    try:
        return rule(picture)
    finally:
        picture.show(None)


def cached_pictures(batch: ImageBatch) -> list[Picture]:
    """Return what earlier stages found out about each picture, creating empty entries if needed."""
    known: list[Picture] | None = batch.derived.get(_PICTURES_KEY)
    if known is None or len(known) != batch.num_items:
        known = batch.derived[_PICTURES_KEY] = [Picture(data) for data in batch.encoded]
    return known


def with_pictures(batch: ImageBatch, pictures: list[Picture]) -> ImageBatch:
    batch.derived[_PICTURES_KEY] = pictures
    return batch


def keep_by_flags(
    batch: ImageBatch, flags: list[bool], reason: str, scores: Sequence[Any]
) -> list[ImageBatch | Dropped]:
    """Like `batch.keep`, but keep the cached facts about the pictures, and record the scores."""
    pictures = cached_pictures(batch)
    first, *dropped = batch.keep(flags, reason)
    assert isinstance(first, ImageBatch)
    stay = [picture for picture, flag in zip(pictures, flags, strict=True) if flag]
    record_scores(first, scores, flags)
    return [with_pictures(first, stay), *dropped]


def record_scores(
    batch: ImageBatch, scores: Sequence[Any], flags: Sequence[bool] = (), name: str = "score"
) -> None:
    """Count scores for the report, separately for kept and dropped. Texts are ignored."""
    sides: dict[bool, list[float]] = {True: [], False: []}
    for score, stays in zip(scores, flags or [True] * len(scores), strict=True):
        if isinstance(score, int | float) and not isinstance(score, bool):
            sides[stays].append(score)
    attach_scores(batch, name, Scores.of(sides[True], sides[False]))


def add_score_column(batch: ImageBatch, column: str, scores: list[Any], kind: str) -> ImageBatch:
    import pyarrow as pa

    pictures = cached_pictures(batch)
    added = batch.with_columns({column: pa.array(scores, pa.type_for_alias(kind))})
    return with_pictures(added, pictures)


@dataclass
class ImageFilter(ProcessingStage[ImageBatch, ImageBatch], ABC):
    """Keep pictures with an acceptable score; drop the others with one reason.

    A picture that cannot be decoded is quarantined with the error; the others continue.
    """

    view: ClassVar[View | None] = WORKING
    """The view of pixels to score, or None if header and bytes are enough."""

    score_kind: ClassVar[str] = "double"

    score_field: str | None = field(default=None, kw_only=True)
    """Column to write the score to. Not written by default."""

    invert: bool = field(default=False, kw_only=True)
    """Drop the pictures that would be kept, and keep those that would be dropped."""

    @abstractmethod
    def score(self, picture: Picture) -> Any:
        """Return the score of a picture."""

    @abstractmethod
    def keeps(self, score: Any) -> bool:
        """Return whether a picture with this score is kept."""

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why pictures are dropped, as shown in reports."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return () if self.score_field is None else (self.score_field,)

    def check(self) -> Iterable[str]:
        if self.score_field in OWN_COLUMNS:
            yield f"score_field is {self.score_field!r}, which every batch has; choose another name"

    def process(self, task: ImageBatch) -> Outcomes:
        found = score_pictures(task, self.view, self.score)
        batch = found.batch
        if self.score_field is not None:
            batch = add_score_column(batch, self.score_field, found.scores, self.score_kind)
        flags = [bool(self.keeps(score)) != self.invert for score in found.scores]
        return [*keep_by_flags(batch, flags, self.drop_reason, found.scores), *found.rejected]

    @property
    def drop_reason(self) -> str:
        """The reason for the report, negated if inverted."""
        return f"not: {self.reason}" if self.invert else self.reason
