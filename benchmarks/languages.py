"""Measures language identification: `hatch run bench:languages [--rounds N]`.

The paragraphs are real ones, of one book in many languages. Only the time of the CPU counts.
"""

import sys
import time
from collections import Counter
from pathlib import Path

from curator_core import DocumentBatch, WorkerInfo
from curator_text import LanguageFilter, LanguageIdentifier
from curator_text.languages.models import missing_for
from measuring.commands import run_command
from measuring.figures import Figure
from measuring.paragraphs import Paragraph, paragraphs
from measuring.timing import in_turns

RESULTS = Path(__file__).parent / "results" / "languages.json"
MODELS = ("cld2", "fasttext")
LEAST_SPEED, LEAST_ACCURACY = 15_000, 0.99


def main() -> int:
    return run_command(__doc__, RESULTS, measured)


def measured(rounds: int) -> list[Figure]:
    texts = paragraphs()
    batch = DocumentBatch.from_pylist([{"text": one.text} for one in texts])
    here = [model for model in MODELS if missing_for(model) is None]
    stages = {model: LanguageIdentifier(model) for model in here}
    for stage in stages.values():
        stage.setup(WorkerInfo())
    seconds, all_of_them = in_turns(
        {model: lambda stage=stage: _seconds(stage, batch) for model, stage in stages.items()},
        rounds,
    )
    figures = [Figure(f"{model}", "", missing_for(model) or "", None)
               for model in MODELS if model not in here]  # fmt: skip
    for model, stage in stages.items():
        speed = len(texts) / seconds[model]
        figures += [_speed(model, speed, all_of_them[model]), _accuracy(model, stage, batch, texts)]
    return figures


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


if __name__ == "__main__":
    sys.exit(main())
