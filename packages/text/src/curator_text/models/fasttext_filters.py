"""Rules over what a fastText model says about a text."""

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
    """Keeps texts that a fastText model finds good, and some of the others.

    With `alpha`, a text of score s also stays if a draw from Pareto's distribution exceeds 1 - s,
    as for GPT-3: some of what looks bad is wanted. The draw goes by a hash of the text, so it is
    the same in every run. With `alpha` null only `min_score` decides.
    """

    cost: ClassVar[float] = 200.0

    model: str
    """A file of fastText (.bin, .ftz: extra `lid`), or one trained here (.floret: extra
    `fasttext`)."""

    label: str = "__label__hq"
    """The label of good texts."""

    alpha: float | None = 3.0
    """The shape of the distribution: the larger, the fewer of the others stay. Null: none."""

    seed: int = 42
    """Another seed, other draws."""

    min_score: float = field(default=1.0, kw_only=True)
    """From this score on a text stays whatever the draw."""

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
        """Whether the score alone is enough; a draw may keep a text that it is not enough for."""
        return score >= self.min_score

    def judge(self, text: Text) -> Said:
        score = self.score(text)
        stays = self.keeps(score) or (self.alpha is not None and self.draw(text) > 1 - score)
        return score, None if stays != self.invert else self.blank_reason

    def draw(self, text: str) -> float:
        """A draw from Pareto's distribution (of the second kind), the same for the same text."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8, salt=_salt(self.seed))
        share = int.from_bytes(digest.digest(), "big") / 2**64
        return float((1 - share) ** (-1 / (self.alpha or 1)) - 1)


def _salt(seed: int) -> bytes:
    return (seed % 2**64).to_bytes(8, "big")
