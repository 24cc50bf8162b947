"""Score thresholds: keep or drop pictures by a score in a column."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from curator_core import Dropped, ProcessingStage
from curator_core.model.arrow import numbers_in

from curator_image.batches import ImageBatch
from curator_image.measuring.judging import tell


@dataclass
class ScoreThreshold(ProcessingStage[ImageBatch, ImageBatch]):
    """Keep the pictures whose score is within limits. Missing scores are dropped."""

    score_field: str
    """Column with the score."""

    min_score: float | None = None
    """Minimum score to keep."""

    max_score: float | None = None
    """Maximum score to keep."""

    what: str | None = None
    """Name of the score in reasons. The column name by default."""

    def inputs(self) -> Sequence[str]:
        return (self.score_field,)

    def check(self) -> Iterable[str]:
        low, high = self.min_score, self.max_score
        if low is None and high is None:
            yield "min_score and max_score are both missing; give one"
        elif low is not None and high is not None and low > high:
            yield f"min_score {low:g} is above max_score {high:g}: every picture would be dropped"

    def process(self, task: ImageBatch) -> list[ImageBatch | Dropped]:
        scores = numbers_in(task.data, self.score_field)
        reasons = [self.reason_for(score) for score in scores]
        passed_on, *dropped = divided(task, reasons)
        assert isinstance(passed_on, ImageBatch)
        tell(passed_on, scores, [why is None for why in reasons])
        return [passed_on, *dropped]

    def reason_for(self, score: float | None) -> str | None:
        """Return why a picture with this score is dropped, or None if it is kept."""
        what = self.what or self.score_field
        if score is None or score != score:
            return f"no {what}"
        if self.min_score is not None and score < self.min_score:
            return f"{what} under {self.min_score:g}"
        if self.max_score is not None and score > self.max_score:
            return f"{what} over {self.max_score:g}"
        return None


def divided(task: ImageBatch, reasons: Sequence[str | None]) -> list[ImageBatch | Dropped]:
    """Return the pictures without a reason, and a note of the dropped ones for each reason."""
    found = [reason for reason in dict.fromkeys(reasons) if reason is not None]
    bare = task.with_data(task.data)  # dropped records must not keep pixels in memory
    outcomes: list[ImageBatch | Dropped] = [task]
    if found:
        outcomes = [task.filter([why is None for why in reasons])]
    for reason in found:
        gone = [why == reason for why in reasons]
        outcomes.append(Dropped(reason, sum(gone), partial(bare.filter, gone)))
    return outcomes
