"""Rules over which characters a text uses."""

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
    character histograms per language (dl.fbaipublicfiles.com/m2m_100/histograms.tar.gz).
    """

    cost: ClassVar[float] = 100.0

    histogram: str
    """A file with one usual character at the start of each line, most frequent first."""

    threshold: float = 0.8
    """The share of usual characters must be above this."""

    threshold_char: str = field(default="]", kw_only=True)
    """The list of usual characters ends at the first line that begins with this."""

    @property
    def reason(self) -> str:
        return f"at most {share(self.threshold)} usual characters"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not Path(self.histogram).is_file():
            yield f"histogram: no file {self.histogram}"

    def score(self, text: Text) -> float:
        """Return the share of usual characters; white space around the text counts as unusual."""
        usual = characters_in(self.histogram, self.threshold_char)
        return sum(map(usual.__contains__, text.strip())) / len(text)

    def keeps(self, score: float) -> bool:
        return score > self.threshold
