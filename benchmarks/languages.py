"""Measures language identification: `hatch run bench:languages [--quick] [ROW …]`.

The paragraphs are those of one book in many languages, the sentences are messages of programs in
many more. Only the time of the CPU counts. The row `table` prints the accuracy for each language
as the documentation shows it.
"""

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, median

from curator_core import DocumentBatch, WorkerInfo
from curator_text import LanguageFilter, LanguageIdentifier
from curator_text.language_id.models import model_problem
from measuring.figures import Figure
from measuring.paragraphs import OF_EACH, Paragraph, paragraphs
from measuring.rows import Row, run_rows
from measuring.sentences import sentences

MODELS = ("cld2", "fasttext")
LEAST_SPEED = 15_000
LEAST_PARAGRAPHS = 0.99
LEAST_SENTENCES = {"cld2": 0.88, "fasttext": 0.75}


@dataclass(frozen=True)
class Sizes:
    """How much work each row is measured on; each number is an option of the command."""

    rounds: int = 5
    paragraphs: int = OF_EACH
    """Of each language, and as many sentences."""


QUICK = Sizes(rounds=1, paragraphs=10)


def identified(model: str, sizes: Sizes) -> Iterator[Figure]:
    if why := model_problem(model):
        yield Figure(model, f">= {LEAST_SPEED:,}, >= {LEAST_PARAGRAPHS}", why, None)
        return
    texts = paragraphs(sizes.paragraphs)
    batch = _batch(texts)
    stage = LanguageIdentifier(model)
    stage.setup(WorkerInfo())
    seconds = [_seconds(stage, batch) for _ in range(sizes.rounds)]
    yield _speed(model, len(texts) / median(seconds), seconds)
    yield _accuracy(model, "paragraphs", texts, LEAST_PARAGRAPHS)
    yield _accuracy(model, "sentences", sentences(sizes.paragraphs), LEAST_SENTENCES[model])


def _batch(texts: Sequence[Paragraph]) -> DocumentBatch:
    return DocumentBatch.from_pylist([{"text": one.text} for one in texts])


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


def _identify(model: str, texts: Sequence[Paragraph]) -> list[str]:
    [told] = LanguageIdentifier(model).process(_batch(texts))
    assert isinstance(told, DocumentBatch)
    found: list[str] = told.data.column("language").to_pylist()
    return found


def _accuracy(model: str, what: str, texts: list[Paragraph], least: float) -> Figure:
    found = _identify(model, texts)
    by_language = _by_language(texts, found)
    wrong = Counter(
        f"{one.language} as {said}"
        for one, said in zip(texts, found, strict=True)
        if said != one.language
    )
    right = 1 - wrong.total() / len(texts)
    average = mean(by_language.values())
    return Figure(
        f"{model}: right of {len(texts):,} {what} in {len(by_language)} languages",
        f">= {least}",
        f"{right:.4f} (mean of the languages: {average:.4f})",
        right >= least and len(by_language) >= 20,
        {
            "by_language": by_language,
            "wrong": dict(wrong.most_common(200)),
            "kept_as_en": _kept(model, _batch(texts)),
        },
    )


def _by_language(texts: Sequence[Paragraph], found: Sequence[str]) -> dict[str, float]:
    right: defaultdict[str, list[bool]] = defaultdict(list)
    for one, said in zip(texts, found, strict=True):
        right[one.language].append(said == one.language)
    return {language: round(mean(each), 4) for language, each in sorted(right.items())}


def _kept(model: str, batch: DocumentBatch) -> int:
    """How many a filter for English keeps."""
    kept = LanguageFilter(["en"], model=model).process(batch)
    return sum(one.num_items for one in kept if isinstance(one, DocumentBatch))


def table(sizes: Sizes) -> Iterator[Figure]:
    """Print the accuracy for each language in Markdown."""
    columns = [
        _by_language(texts, _identify(model, texts))
        for texts in (paragraphs(sizes.paragraphs), sentences(sizes.paragraphs))
        for model in MODELS
    ]
    heads = [f"{what}, `{model}`" for what in ("paragraphs", "sentences") for model in MODELS]
    print(_row("language", *heads), f"|---|{'---:|' * len(heads)}", sep="\n")
    for language in sorted({language for column in columns for language in column}):
        shares = [column.get(language) for column in columns]
        print(_row(language, *("" if share is None else f"{share:.2f}" for share in shares)))
    yield Figure("languages in the table", ">= 20", str(len(columns[-1])), len(columns[-1]) >= 20)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


ROWS: dict[str, Row[Sizes]] = {
    model: lambda sizes, model=model: identified(model, sizes)  # type: ignore[misc]
    for model in MODELS
} | {"table": table}

if __name__ == "__main__":
    sys.exit(run_rows("languages", __doc__, ROWS, Sizes(), QUICK))
