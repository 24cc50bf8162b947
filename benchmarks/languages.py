"""Measures language identification: `hatch run bench:languages [--quick] [ROW …]`.

The paragraphs are real ones, of one book in many languages. Only the time of the CPU counts.
"""

import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from curator_core import DocumentBatch, WorkerInfo
from curator_text import LanguageFilter, LanguageIdentifier
from curator_text.languages.models import missing_for
from measuring.figures import Figure
from measuring.paragraphs import OF_EACH, Paragraph, paragraphs
from measuring.rows import Row, run_rows

MODELS = ("cld2", "fasttext")
LEAST_SPEED, LEAST_ACCURACY = 15_000, 0.99


@dataclass(frozen=True)
class Sizes:
    """How much work each row is measured on; each number is an option of the command."""

    rounds: int = 5
    paragraphs: int = OF_EACH
    """Of each language."""


QUICK = Sizes(rounds=1, paragraphs=10)


def identified(model: str, sizes: Sizes) -> Iterator[Figure]:
    if why := missing_for(model):
        yield Figure(model, f">= {LEAST_SPEED:,}, >= {LEAST_ACCURACY}", why, None)
        return
    texts = paragraphs(sizes.paragraphs)
    batch = DocumentBatch.from_pylist([{"text": one.text} for one in texts])
    stage = LanguageIdentifier(model)
    stage.setup(WorkerInfo())
    seconds = [_seconds(stage, batch) for _ in range(sizes.rounds)]
    yield _speed(model, len(texts) / median(seconds), seconds)
    yield _accuracy(model, stage, batch, texts)


def _seconds(stage: LanguageIdentifier, batch: DocumentBatch) -> float:
    started = time.process_time()
    list(stage.process(batch))
    return time.process_time() - started


def _speed(model: str, speed: float, measured: list[float]) -> Figure:
    return Figure(
        f"{model}: paragraphs in a second of one core",
        f">= {LEAST_SPEED:,}",
        f"{speed:,.0f}",
        speed >= LEAST_SPEED,
        {"seconds": measured},
    )


def _accuracy(
    model: str, stage: LanguageIdentifier, batch: DocumentBatch, texts: list[Paragraph]
) -> Figure:
    [told] = stage.process(batch)
    assert isinstance(told, DocumentBatch)
    found = told.data.column("language").to_pylist()
    wrong = Counter(
        f"{one.language} as {said}"
        for one, said in zip(texts, found, strict=True)
        if said != one.language
    )
    right = 1 - wrong.total() / len(texts)
    languages = len({one.language for one in texts})
    return Figure(
        f"{model}: right of {len(texts):,} paragraphs in {languages} languages",
        f">= {LEAST_ACCURACY}",
        f"{right:.4f}",
        right >= LEAST_ACCURACY and languages >= 20,
        {"wrong": dict(wrong.most_common()), "kept_as_en": _kept(model, batch)},
    )


def _kept(model: str, batch: DocumentBatch) -> int:
    """How many a filter for English keeps."""
    kept = LanguageFilter(["en"], model=model).process(batch)
    return sum(one.num_items for one in kept if isinstance(one, DocumentBatch))


ROWS: dict[str, Row[Sizes]] = {
    model: lambda sizes, model=model: identified(model, sizes)  # type: ignore[misc]
    for model in MODELS
}

if __name__ == "__main__":
    sys.exit(run_rows("languages", __doc__, ROWS, Sizes(), QUICK))
