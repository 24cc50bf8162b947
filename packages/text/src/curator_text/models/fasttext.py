"""fastText: keep texts by the score of a published model, or of one trained with floret."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from curator_core import CuratorError, WorkerInfo
from curator_core.errors import hint
from curator_core.model.optional_dependencies import not_installed

from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter
from curator_text.rule_results import Evaluation

Scorer: TypeAlias = Callable[[str], float]
"""Returns the probability of a label for a text, from 0 to 1."""

FLORET = ".floret"
MARK = "__label__"

_NEEDS = {FLORET: ("floret", "fasttext"), "": ("fasttext", "lid")}


def model_problem(model: str) -> str | None:
    """Return what to do before this model can be used; None if it is ready."""
    package, extra = _NEEDS[FLORET if model.endswith(FLORET) else ""]
    if not Path(model).is_file():
        return f"model {model!r} is not a file: give a fastText model (.bin, .ftz), or train one"
    return not_installed(f"model {model!r}", [package], f"pip install 'curator-text[{extra}]'")


@cache
def _predictor(model: str) -> Any:
    """Load a model, once per process."""
    if (problem := model_problem(model)) is not None:
        raise CuratorError(problem)
    library: Any = __import__(_NEEDS[FLORET if model.endswith(FLORET) else ""][0])
    try:
        # Call the underlying predictor: the wrapper creates arrays that are not needed.
        return library.load_model(model).f
    except ValueError as error:
        raise CuratorError(f"{model} is not a readable fastText model: {error}") from error


@cache
def load_scorer(model: str, label: str) -> Scorer:
    """Return a function that scores texts by one label of a model."""
    predict = _predictor(model).predict
    # Any text returns all labels, or none if the line end was pruned from the model.
    known = [name for _, name in predict("\n", -1, -1.0, "replace")]
    if known and label not in known:
        raise CuratorError(f"{model} has no label {label!r}{hint(label, known)}")

    def score_text(text: str) -> float:
        found = predict(one_line(text) + "\n", -1, 0.0, "replace")
        return min(1.0, next((score for score, name in found if name == label), 0.0))

    return score_text


def one_line(text: str) -> str:
    """Normalize a text for training and scoring: one line, without label markers."""
    return " ".join(text.split()).replace(MARK, " ")


def train_quality_model(
    good: Iterable[str],
    bad: Iterable[str],
    path: str,
    *,
    epochs: int = 5,
    word_ngrams: int = 2,
    dimensions: int = 100,
) -> str:
    """Train a model to separate good texts (__label__hq) from others (__label__cc), and save it.

    Training is deterministic: a single thread with a fixed seed.
    """
    import tempfile

    if not path.endswith(FLORET):
        raise CuratorError(f"{path}: the path of a trained model must end in {FLORET}")
    if problem := not_installed("training", ["floret"], "pip install 'curator-text[fasttext]'"):
        raise CuratorError(problem)
    import floret

    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        counts = _write_training_file(good, bad, file)
        if not all(counts):
            raise CuratorError(
                f"{counts[0]} good and {counts[1]} other texts given; both are needed"
            )
        model = floret.train_supervised(
            file.name,
            mode="fasttext",
            epoch=epochs,
            wordNgrams=word_ngrams,
            dim=dimensions,
            minCount=1,
            thread=1,
            seed=1,
            verbose=0,
        )
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    model.save_model(path)
    return path


def _write_training_file(good: Iterable[str], bad: Iterable[str], file: Any) -> tuple[int, int]:
    """Write the texts alternately, because a model forgets what it has not seen recently."""
    from itertools import zip_longest

    counts = [0, 0]
    for pair in zip_longest(good, bad):
        for index, (text, label) in enumerate(zip(pair, ("hq", "cc"), strict=True)):
            if text and (line := one_line(text)):
                file.write(f"{MARK}{label} {line}\n")
                counts[index] += 1
    file.flush()
    return counts[0], counts[1]


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
        if (problem := model_problem(self.model)) is not None:
            yield problem
        if self.alpha is not None and self.alpha <= 0:
            yield f"alpha is {self.alpha}, but must be more than 0, or null for no draws"

    def setup(self, worker: WorkerInfo) -> None:
        load_scorer(self.model, self.label)

    def score(self, text: DocumentText) -> float:
        return load_scorer(self.model, self.label)(text)

    def keeps(self, score: float) -> bool:
        """Return whether the score alone is sufficient. A draw may still keep other texts."""
        return score >= self.min_score

    def evaluate(self, text: DocumentText) -> Evaluation:
        score = self.score(text)
        is_kept = self.keeps(score) or (self.alpha is not None and self.draw(text) > 1 - score)
        return score, None if is_kept != self.invert else self.blank_reason

    def draw(self, text: str) -> float:
        """Return a Pareto (Lomax) draw derived from the text, the same in every run."""
        digest = blake2b(text.encode(errors="surrogatepass"), digest_size=8, salt=_salt(self.seed))
        share = int.from_bytes(digest.digest(), "big") / 2**64
        return float((1 - share) ** (-1 / (self.alpha or 1)) - 1)


def _salt(seed: int) -> bytes:
    return (seed % 2**64).to_bytes(8, "big")
