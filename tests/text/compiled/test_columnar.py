"""The engines agree on fused rules and on every form of column."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from corpus import documents
from curator_core import DocumentBatch, Pipeline
from curator_core.local.executor import LocalExecutor
from curator_core.testing import run_stages
from curator_text import (
    C4QualityFilter,
    DocumentText,
    FineWebQualityFilter,
    FunctionFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    NumbersFilter,
    RepeatingDuplicateNGramsFilter,
    RepeatingTopNGramsFilter,
    TextFilter,
    WordCountFilter,
)
from curator_text.compiled.engine import VARIABLE
from curator_text.filters.base import TextRule

PROSE = "The boat was late, and nobody on the quay knew when it would have to leave again.\n"


@pytest.fixture(autouse=True)
def _needs_numba() -> None:
    pytest.importorskip("numba")


@dataclass
class Picky(TextFilter):
    """A custom rule that fails on some texts."""

    reason = "too long"

    def score(self, text: DocumentText) -> float:
        if "fail" in text:
            raise ValueError("it cannot read this")
        return len(text.words)

    def keeps(self, score: float) -> bool:
        return score < 300


@dataclass
class Stricter(WordCountFilter):
    """A subclass, which must not use the kernel of its parent."""

    def score(self, text: DocumentText) -> float:
        return super().score(text) / 2


ROWS: list[list[TextRule]] = [
    [
        GopherRepetitionFilter(),
        GopherQualityFilter(),
        C4QualityFilter(filter_no_terminal_punct=False),
        FineWebQualityFilter(),
    ],
    [
        NumbersFilter(score_field="digits"),
        Picky(score_field="length"),
        WordCountFilter(3, score_field="words"),
        Stricter(3, score_field="half"),
        WordCountFilter(3, words="cjk-aware"),
        RepeatingTopNGramsFilter(2),
        RepeatingTopNGramsFilter(3, 0.18),
        RepeatingDuplicateNGramsFilter(5, 0.15, score_field="repeated"),
        C4QualityFilter(min_num_sentences=1),
        Picky(),
        FineWebQualityFilter(),
        FunctionFilter(str.isprintable, score_field="printable"),
    ],
]
TEXTS = [
    *(document["text"] for document in documents(150, seed=3)),
    *(
        None,
        "",
        " \n",
        "fail",
        PROSE + "fail",
        PROSE * 3,
        "1 2 3",
        "word " * 400,
        "\u212a ookies\n",
    ),
]


def run(engine: str, rules: list[TextRule], batch: DocumentBatch) -> Any:
    stages = [rule.with_(name=f"{place} {rule.name}") for place, rule in enumerate(rules)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, engine)
        done = run_stages(stages, [batch], on_error="quarantine")
    tables = [one.data for one in done.outputs]
    for table in tables:
        table.validate(full=True)
    counts = [done.report.of(place) for place in range(len(stages))]
    failed = [(q.stage, q.reason, q.where, q.payload, q.subtask) for q in done.report.quarantined]
    return (
        [(table.schema, table.to_pylist()) for table in tables],
        [(one.items_in, one.items_out, one.reasons, one.scores) for one in counts],
        failed,
    )


@pytest.mark.parametrize("row", ROWS, ids=["sets", "mixed"])
def test_engines_agree_on_fused_rules(row: list[TextRule]) -> None:
    batch = DocumentBatch(pa.table({"id": pa.array(range(len(TEXTS))), "text": TEXTS}))
    compiled = run("compiled", row, batch)
    assert compiled == run("python", row, batch)
    assert compiled[0]
    assert sum(len(reasons) for *_, reasons, _ in compiled[1]) > 3


def columns() -> Iterator[tuple[str, Any]]:
    texts = pa.array(TEXTS, pa.string())
    yield "large", texts.cast(pa.large_string())
    yield "sliced", pa.array(["x", *TEXTS, "y"]).slice(1, len(TEXTS))
    yield "chunked", pa.chunked_array([texts[:7], texts[7:7], texts[7:]])
    yield "no chunks", pa.chunked_array([], pa.string())
    yield "dictionary", texts.dictionary_encode()
    yield "null", pa.nulls(3)
    yield "empty", texts[:0]
    yield "damaged", _damaged()


def _damaged() -> pa.Array:
    data = PROSE.encode() * 3 + b"\xff\xfe and \xed\xa0\x80" + PROSE.encode() * 3
    ends = pa.py_buffer(b"".join(end.to_bytes(4, "little") for end in (0, 249, 260, len(data))))
    return pa.StringArray.from_buffers(3, ends, pa.py_buffer(data))


@pytest.mark.parametrize(("kind", "column"), list(columns()), ids=lambda value: str(value)[:10])
@pytest.mark.parametrize("row", ROWS, ids=["sets", "mixed"])
def test_engines_agree_on_every_form_of_column(row: list[TextRule], kind: str, column: Any) -> None:
    batch = DocumentBatch(pa.table({"text": column}))
    assert run("compiled", row, batch) == run("python", row, batch)


@pytest.mark.parametrize("workers", [0, 2])
def test_engines_agree_on_the_counts_of_a_pipeline(
    workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = DocumentBatch(pa.table({"id": pa.array(range(len(TEXTS))), "text": TEXTS}))
    ends = []
    for engine in ("compiled", "python"):
        monkeypatch.setenv(VARIABLE, engine)
        pipeline = Pipeline("rules", stages=ROWS[0])
        result = pipeline.run(LocalExecutor(workers=workers), tasks=[batch])
        reasons = {name: dict(stage.reasons) for name, stage in result.stages.items()}
        ends.append((reasons, [task.data for task in result.tasks]))
    assert ends[0] == ends[1]


def test_engines_agree_on_a_long_repeated_ngram() -> None:
    text = "a" * 3000 + " b " + "a" * 6000
    rule = RepeatingTopNGramsFilter(2, score_field="score")
    batch = DocumentBatch(pa.table({"text": [text]}))
    assert run("compiled", [rule], batch) == run("python", [rule], batch)
