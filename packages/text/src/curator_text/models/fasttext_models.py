"""fastText models that judge texts: read as published, or trained here with floret.

floret is the maintained branch of fastText that comes in wheels. It learns in the same way, but
its files are its own: they end in .floret, and only floret reads them.
"""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from curator_core import CuratorError
from curator_core.errors import hint
from curator_core.model.optional_dependencies import not_installed

Judge: TypeAlias = Callable[[str], float]
"""How likely its label is for a text, from 0 to 1."""

FLORET = ".floret"
MARK = "__label__"

_NEEDS = {FLORET: ("floret", "fasttext"), "": ("fasttext", "lid")}


def missing_for(model: str) -> str | None:
    """What to do before this model can be used, or None where it can."""
    package, extra = _NEEDS[FLORET if model.endswith(FLORET) else ""]
    if not Path(model).is_file():
        return f"model {model!r} is no file: give one of fastText (.bin, .ftz), or train one"
    return not_installed(f"model {model!r}", [package], f"pip install 'curator-text[{extra}]'")


@cache
def _predictor(model: str) -> Any:
    """The model, loaded once in each process."""
    if (problem := missing_for(model)) is not None:
        raise CuratorError(problem)
    library: Any = __import__(_NEEDS[FLORET if model.endswith(FLORET) else ""][0])
    try:
        # The predictor behind the wrapper, which makes arrays that are not needed.
        return library.load_model(model).f
    except ValueError as error:
        raise CuratorError(f"{model} cannot be read as a model of fastText: {error}") from error


@cache
def judge(model: str, label: str) -> Judge:
    """Asks a model about one of its labels."""
    predict = _predictor(model).predict
    # Of any text all labels are told, but of none by a model that was pruned of the line's end.
    known = [name for _, name in predict("\n", -1, -1.0, "replace")]
    if known and label not in known:
        raise CuratorError(f"{model} knows no label {label!r}{hint(label, known)}")

    def likely(text: str) -> float:
        found = predict(one_line(text) + "\n", -1, 0.0, "replace")
        return min(1.0, next((score for score, name in found if name == label), 0.0))

    return likely


def one_line(text: str) -> str:
    """A text as fastText learns from it and judges it: in one line, and without marks of labels."""
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
    """Teach a model to tell good texts (__label__hq) from others (__label__cc), and save it.

    The same texts in the same order make the same model: one thread learns, with a fixed seed.
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
    """The texts in turn, since a model forgets what it does not meet for long."""
    from itertools import zip_longest

    counts = [0, 0]
    for pair in zip_longest(good, bad):
        for place, (text, label) in enumerate(zip(pair, ("hq", "cc"), strict=True)):
            if text and (line := one_line(text)):
                file.write(f"{MARK}{label} {line}\n")
                counts[place] += 1
    file.flush()
    return counts[0], counts[1]
