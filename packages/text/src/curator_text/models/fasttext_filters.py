"""fastText filters: keep texts by the score of a fastText model."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import ClassVar

from curator_core import WorkerInfo

from curator_text.filtering import TextFilter
from curator_text.judging import Said
from curator_text.models.fasttext_models import judge, missing_for
from curator_text.texts import Text


@dataclass
class FastTextQualityFilter(TextFilter):
    """Keeps texts that a fastText model scores as good, and some of the others.

    With `alpha`, a text with score s is also kept if a draw from a Pareto distribution exceeds
    1 - s, as for GPT-3, so that some low-scoring texts remain. The draw is derived from a hash of
    the text, so it is the same in every run. With `alpha` null, only `min_score` decides.
    """

    cost: ClassVar[float] = 200.0

    model: str
    """Model file: fastText (.bin, .ftz: extra `lid`) or floret (.floret: extra `fasttext`)."""

    label: str = "__label__hq"
    """The label of good texts."""

    alpha: float | None = 3.0
    """Shape of the Pareto distribution: the larger, the fewer low-scoring texts are kept. Null
    keeps none."""

    seed: int = 42
    """A different seed gives different draws."""

    min_score: float = field(default=1.0, kw_only=True)
    """Texts with at least this score are always kept."""

    @property
    def reason(self) -> str:
        return f"not {self.label} enough for a fastText model"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if (problem := missing_for(self.model)) is not None:
            yield problem
        if self.alpha is not None and self.alpha <= 0:
            yield f"alpha is {self.alpha}, but must be more than 0, or null for no draws"

    def setup(self, worker: WorkerInfo) -> None:
        judge(self.model, self.label)

    def score(self, text: Text) -> float:
        return judge(self.model, self.label)(text)

    def keeps(self, score: float) -> bool:
        """Return whether the score alone is sufficient. A draw may still keep other texts."""
        return score >= self.min_score

    def judge(self, text: Text) -> Said:
        score = self.score(text)
        stays = self.keeps(score) or (self.alpha is not None and self.draw(text) > 1 - score)
        return score, None if stays != self.invert else self.blank_reason

    def draw(self, text: str) -> float:
        """Return a Pareto (Lomax) draw derived from the text, the same in every run."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8, salt=_salt(self.seed))
        share = int.from_bytes(digest.digest(), "big") / 2**64
        return float((1 - share) ** (-1 / (self.alpha or 1)) - 1)


def _salt(seed: int) -> bytes:
    return (seed % 2**64).to_bytes(8, "big")
