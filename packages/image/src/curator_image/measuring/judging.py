"""Judging: every picture of a batch scored, and those set aside of which that failed."""

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
    """The pictures that could be scored, the score of each, and the others."""

    batch: ImageBatch
    scores: list[Any]
    rejected: list[Rejected]


def scored(batch: ImageBatch, view: View | None, rule: Callable[[Picture], Any]) -> Scored:
    """What a rule says of each picture; of one without a view, its pixels are not decoded."""
    pictures = pictures_of(batch)
    scores: list[Any] = []
    failed: dict[int, Exception] = {}
    for row, seen in enumerate(_views(batch, view)):
        try:
            scores.append(_score(pictures[row], seen, rule))
        except TaskTimeoutError:  # concerns the call
            raise
        except Exception as error:  # noqa: BLE001 - the border to a rule's code
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
    """What stages before have found out about each picture, or where to note it."""
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
    """`batch.keep`, with what is known of the pictures that stay, and the scores for the report."""
    pictures = pictures_of(batch)
    first, *dropped = batch.keep(flags, reason)
    assert isinstance(first, ImageBatch)
    stay = [picture for picture, flag in zip(pictures, flags, strict=True) if flag]
    tell(first, scores, flags)
    return [remembering(first, stay), *dropped]


def tell(
    batch: ImageBatch, scores: Sequence[Any], flags: Sequence[bool] = (), name: str = "score"
) -> None:
    """Have scores counted in the report, of what stays and of what goes; words are none."""
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
