"""Scoring of batches: score every picture, and reject those that fail."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import Dropped, Rejected
from curator_core.errors import CuratorError, reason_of
from curator_core.execution.timeouts import TaskTimeoutError
from curator_core.model.scores import Scores, tell_scores

from curator_image.batches import ImageBatch
from curator_image.measuring.pictures import Picture
from curator_image.opening import UndecodableError
from curator_image.pixels import Seen
from curator_image.views import View

_PICTURES = "curator_image.pictures"

Outcomes = list[ImageBatch | Dropped | Rejected]


@dataclass(frozen=True)
class Scored:
    """The scored pictures with their scores, and the rejected ones."""

    batch: ImageBatch
    scores: list[Any]
    rejected: list[Rejected]


def scored(batch: ImageBatch, view: View | None, rule: Callable[[Picture], Any]) -> Scored:
    """Apply a rule to each picture. Without a view, pixels are not decoded."""
    pictures = pictures_of(batch)
    scores: list[Any] = []
    failed: dict[int, Exception] = {}
    for row, seen in enumerate(_views(batch, view)):
        try:
            scores.append(_score(pictures[row], seen, rule))
        except TaskTimeoutError:  # concerns the whole call
            raise
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            failed[row] = (
                error.bare()
                if isinstance(error, UndecodableError)
                else CuratorError(reason_of(error))
            )
    good, rejected = batch.without(failed)
    stay = [picture for row, picture in enumerate(pictures) if row not in failed]
    return Scored(remembering(good, stay), scores, rejected)


def _views(batch: ImageBatch, view: View | None) -> Iterator[Seen | None]:
    if view is None:
        yield from [None] * batch.num_items
    else:
        yield from batch.pictures(view)


def _score(picture: Picture, seen: Seen | None, rule: Callable[[Picture], Any]) -> Any:
    if isinstance(seen, UndecodableError):
        raise seen.bare()
    picture.show(seen)
    try:
        return rule(picture)
    finally:
        picture.show(None)


def pictures_of(batch: ImageBatch) -> list[Picture]:
    """Return what earlier stages found out about each picture, creating empty entries if needed."""
    known: list[Picture] | None = batch.derived.get(_PICTURES)
    if known is None or len(known) != batch.num_items:
        known = batch.derived[_PICTURES] = [Picture(data) for data in batch.encoded]
    return known


def remembering(batch: ImageBatch, pictures: list[Picture]) -> ImageBatch:
    batch.derived[_PICTURES] = pictures
    return batch


def kept(
    batch: ImageBatch, flags: list[bool], reason: str, scores: Sequence[Any]
) -> list[ImageBatch | Dropped]:
    """Like `batch.keep`, but keep what is known about the pictures, and report the scores."""
    pictures = pictures_of(batch)
    first, *dropped = batch.keep(flags, reason)
    assert isinstance(first, ImageBatch)
    stay = [picture for picture, flag in zip(pictures, flags, strict=True) if flag]
    tell(first, scores, flags)
    return [remembering(first, stay), *dropped]


def tell(
    batch: ImageBatch, scores: Sequence[Any], flags: Sequence[bool] = (), name: str = "score"
) -> None:
    """Count scores for the report, separately for kept and dropped. Texts are ignored."""
    sides: dict[bool, list[float]] = {True: [], False: []}
    for score, stays in zip(scores, flags or [True] * len(scores), strict=True):
        if isinstance(score, int | float) and not isinstance(score, bool):
            sides[stays].append(score)
    tell_scores(batch, name, Scores.of(sides[True], sides[False]))


def with_scores(batch: ImageBatch, column: str, scores: list[Any], kind: str) -> ImageBatch:
    import pyarrow as pa

    pictures = pictures_of(batch)
    added = batch.with_columns({column: pa.array(scores, pa.type_for_alias(kind))})
    return remembering(added, pictures)
