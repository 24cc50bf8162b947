"""fastText models: read published models, or train new ones with floret.

floret is the maintained fork of fastText with prebuilt wheels. It trains in the same way, but has
its own file format: files end in .floret, and only floret reads them.
"""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from curator_core import CuratorError
from curator_core.errors import hint
from curator_core.model.optional_dependencies import not_installed

Judge: TypeAlias = Callable[[str], float]
"""Returns the probability of a label for a text, from 0 to 1."""

FLORET = ".floret"
MARK = "__label__"

_NEEDS = {FLORET: ("floret", "fasttext"), "": ("fasttext", "lid")}


def missing_for(model: str) -> str | None:
    """Return what to do before this model can be used; None if it is ready."""
    package, extra = _NEEDS[FLORET if model.endswith(FLORET) else ""]
    if not Path(model).is_file():
        return f"model {model!r} is no file: give one of fastText (.bin, .ftz), or train one"
    return not_installed(f"model {model!r}", [package], f"pip install 'curator-text[{extra}]'")


@cache
def _predictor(model: str) -> Any:
    """Load a model, once per process."""
    if (problem := missing_for(model)) is not None:
        raise CuratorError(problem)
    library: Any = __import__(_NEEDS[FLORET if model.endswith(FLORET) else ""][0])
    try:
        # Call the underlying predictor: the wrapper creates arrays that are not needed.
        return library.load_model(model).f
    except ValueError as error:
        raise CuratorError(f"{model} cannot be read as a model of fastText: {error}") from error


@cache
def judge(model: str, label: str) -> Judge:
    """Return a function that scores texts by one label of a model."""
    predict = _predictor(model).predict
    # Any text returns all labels, or none if the line end was pruned from the model.
    known = [name for _, name in predict("\n", -1, -1.0, "replace")]
    if known and label not in known:
        raise CuratorError(f"{model} knows no label {label!r}{hint(label, known)}")

    def likely(text: str) -> float:
        found = predict(one_line(text) + "\n", -1, 0.0, "replace")
        return min(1.0, next((score for score, name in found if name == label), 0.0))

    return likely


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
        raise CuratorError(f"{path}: a model that is trained here must end in {FLORET}")
    if problem := not_installed("training", ["floret"], "pip install 'curator-text[fasttext]'"):
        raise CuratorError(problem)
    import floret

    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
        counts = _write(good, bad, file)
        if not all(counts):
            raise CuratorError(f"there are {counts[0]} good and {counts[1]} other texts: give both")
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


def _write(good: Iterable[str], bad: Iterable[str], file: Any) -> tuple[int, int]:
    """Write the texts alternately, because a model forgets what it has not seen recently."""
    from itertools import zip_longest

    counts = [0, 0]
    for pair in zip_longest(good, bad):
        for place, (text, label) in enumerate(zip(pair, ("hq", "cc"), strict=True)):
            if text and (line := one_line(text)):
                file.write(f"{MARK}{label} {line}\n")
                counts[place] += 1
    file.flush()
    return counts[0], counts[1]
