"""Rules over which characters a text is made of."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from curator_text.filtering import TextFilter, share
from curator_text.tables import characters_in
from curator_text.texts import Text


@dataclass
class HistogramFilter(TextFilter):
    """Drops texts with too many characters that are unusual in their language.

    It is a cheap test for another script or language, from the NLLB project, which published
    histograms of characters by language (dl.fbaipublicfiles.com/m2m_100/histograms.tar.gz).
    """

    cost: ClassVar[float] = 100.0

    histogram: str
    """A file with the usual characters, each at the beginning of a line, the commonest first."""

    threshold: float = 0.8
    """More than this share of characters must be among them."""

    threshold_char: str = field(default="]", kw_only=True)
    """The line that begins with this ends the usual characters."""

    @property
    def reason(self) -> str:
        return f"at most {share(self.threshold)} usual characters"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not Path(self.histogram).is_file():
            yield f"histogram: no file {self.histogram}"

    def score(self, text: Text) -> float:
        """The share of usual characters; white space around the text is not usual."""
        usual = characters_in(self.histogram, self.threshold_char)
        return sum(map(usual.__contains__, text.strip())) / len(text)

    def keeps(self, score: float) -> bool:
        return score > self.threshold
