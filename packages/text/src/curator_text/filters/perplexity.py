"""Rules over the likelihood of a text in its language."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from curator_core import WorkerInfo
from curator_core.errors import InputError, PluginError
from curator_core.model.optional_dependencies import not_installed

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter, WordFilter
from curator_text.word_lists import Unigrams, unigrams_in

_UNKNOWN_LOG = -20.72326583694641  # ln 1e-9


@dataclass
class UnigramLogProbFilter(WordFilter):
    """Drops texts with words that are rare in their language: codes, other languages.

    The score is the mean natural logarithm of each lower-case word's share of all words in a table;
    a word missing from the table counts as 1e-9.
    """

    cost: ClassVar[float] = 60.0

    counts: str | Mapping[str, float]
    """A file with a word and its count on each line, separated by a tab or comma, optionally
    compressed with gzip; or the counts themselves."""

    min_log_prob: float = -10.0
    """Minimum mean logarithm."""

    @property
    def reason(self) -> str:
        return f"mean log-probability of words under {self.min_log_prob:g}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if isinstance(self.counts, str):
            if not Path(self.counts).is_file():
                yield f"counts: no file {self.counts}"
        elif sum(self.counts.values()) <= 0:
            yield "counts is empty, but must hold words and how often they occur"

    def score(self, text: DocumentText) -> float:
        logs = self._table().logs
        words = self.words_of(text).words
        return sum(logs.get(word.lower(), _UNKNOWN_LOG) for word in words) / len(words)

    def keeps(self, score: float) -> bool:
        return score >= self.min_log_prob

    def _table(self) -> Unigrams:
        if isinstance(self.counts, str):
            return unigrams_in(self.counts)
        known: Unigrams | None = vars(self).get("_unigrams")
        if known is None:
            lowered: dict[str, float] = {}
            for word, count in self.counts.items():
                lowered[word.lower()] = lowered.get(word.lower(), 0.0) + count
            known = self._unigrams = Unigrams.of_counts(lowered)
        return known


@dataclass
class PerplexityFilter(TextFilter):
    """Drops texts that a language model finds unlikely: lists, other languages.

    The model is one that KenLM makes or reads (`.arpa`, `.bin`). Each line counts as a sentence;
    the score is the perplexity of all lines together, over words separated by white space.
    """

    cost: ClassVar[float] = 500.0

    model: str
    """The model file. Needs `curator-text[perplexity]`."""

    max_perplexity: float = 1000.0
    """Maximum perplexity. Typical values depend on the model: look at its scores first."""

    lower: bool = field(default=False, kw_only=True)
    """Convert the text to lower case first, for models trained on lower-case text."""

    @property
    def reason(self) -> str:
        return f"perplexity over {self.max_perplexity:g}"

    def check(self) -> Iterable[str]:
        yield from super().check()
        if not Path(self.model).is_file():
            yield f"model: no file {self.model}"
        if problem := _missing_kenlm(self.model):
            yield problem

    def setup(self, worker: WorkerInfo) -> None:
        _model(self.model)

    def score(self, text: DocumentText) -> float:
        model = _model(self.model)
        cased = text.lowered if self.lower else text
        lines = [" ".join(line.split()) for line in cased.split("\n") if line.strip()]
        lines = [line.replace("\x00", " ").encode("utf-8", "replace").decode() for line in lines]
        total = sum(model.score(line, bos=True, eos=True) for line in lines)
        words = sum(len(line.split()) + 1 for line in lines)  # each line has one end token
        exponent = -total / words
        return 10.0**exponent if exponent < 300 else float("inf")

    def keeps(self, score: float) -> bool:
        return score <= self.max_perplexity


def _missing_kenlm(path: str) -> str | None:
    return not_installed(f"the model {path}", ["kenlm"], "pip install 'curator-text[perplexity]'")


@lru_cache(maxsize=2)
def _model(path: str) -> Any:
    if problem := _missing_kenlm(path):
        raise PluginError(problem)
    import kenlm

    try:
        return kenlm.Model(path)
    except (OSError, RuntimeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise InputError(f"{path} is not a model that KenLM can read: {first}") from error
