"""Fused rule sets give the same results and counts as single ones."""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped, Pipeline
from curator_core.local.executor import LocalExecutor
from curator_core.testing import run_stages
from curator_text import (
    C4BadWordsFilter,
    C4ParagraphFilter,
    C4QualityFilter,
    DocumentText,
    FineWebQualityFilter,
    GopherQualityFilter,
    GopherRepetitionFilter,
    JsonlReader,
    JsonlWriter,
    TextFilter,
)
from curator_text.filters.base import RuleSet, TextRule
from hypothesis import given
from hypothesis import strategies as st

SETS: list[RuleSet] = [
    GopherRepetitionFilter(),
    GopherQualityFilter(),
    C4QualityFilter(filter_no_terminal_punct=False),
    FineWebQualityFilter(),
]
ALL = [*SETS, C4QualityFilter(), C4ParagraphFilter(), C4BadWordsFilter(["bad"])]
WORDS = "the house and a garden have been with us to be found of late".split()  # noqa: SIM905


def prose(seed: int, lines: int = 6) -> str:
    """Return different sentences of eleven words."""
    rows = []
    for row in range(lines):
        chosen = [WORDS[(seed + row * 3 + place * (row + 1)) % len(WORDS)] for place in range(9)]
        rows.append(f"The {' '.join(chosen)} thing{seed}{row}{chr(97 + row)}.")
    return "\n".join(rows)


RECORDS: list[dict[str, Any]] = [
    {"id": 0, "text": prose(1) + "\nmenu\nTurn on JavaScript, please.\n[1]"},
    {"id": 1, "text": "short"},
    {"id": 2, "text": None},
    {"id": 3, "text": prose(2, 8)},
    {"id": 4, "text": prose(3) + "\nHere is lorem ipsum again."},
    {"id": 5, "text": prose(4) + "\n" + "\n".join(["list"] * 2)},
    {"id": 6, "text": " \n "},
    {"id": 7, "text": prose(5, 7) + "\nThis line is here twice.\nThis line is here twice."},
]


def run(
    stages: Sequence[TextRule], records: list[dict[str, Any]], *, fuse: bool
) -> tuple[list[dict[str, Any]], list[tuple[str, str, int]]]:
    """Return the kept rows and the dropped ones."""
    schema = pa.schema({"id": pa.int64(), "text": pa.string()})
    batch = DocumentBatch(pa.Table.from_pylist(records, schema))
    stages = [stage.with_(name=f"{i} {stage.name}") for i, stage in enumerate(stages)]
    done = run_stages(stages, [batch], fuse=fuse)
    dropped = [
        (stage.name[2:], reason, items)
        for index, stage in enumerate(stages)
        for reason, items in done.report.of(index).reasons.items()
    ]
    kept = [row for batch in done.outputs for row in batch.to_pylist()]  # type: ignore[attr-defined]
    return kept, sorted(dropped)


def test_fused_rule_sets_agree_with_single_ones() -> None:
    kept, dropped = run(SETS, RECORDS, fuse=True)
    assert [one["id"] for one in kept] == [0, 3, 5]
    assert kept[0]["text"] == prose(1)  # the edited text is in the column
    assert dropped == [
        ("c4_quality_filter", "lorem_ipsum", 1),
        ("fine_web_quality_filter", "char_dup_ratio", 1),
        ("gopher_quality_filter", "gopher_short_doc", 1),
        ("gopher_repetition_filter", "empty", 2),
    ]
    assert run(SETS, RECORDS, fuse=False) == (kept, dropped)


@given(texts=st.lists(st.one_of(st.none(), st.text(st.sampled_from("ab the.\n[1]{")))))
def test_fused_and_single_rules_agree_on_any_batch(texts: list[str | None]) -> None:
    records = [{"id": number, "text": text} for number, text in enumerate(texts)]
    lenient: list[TextRule] = [
        GopherRepetitionFilter(0.9, 0.9, 0.9, 0.9, ((2, 0.9),), ((5, 0.5),)),
        C4QualityFilter(min_num_sentences=-1, min_words_per_line=1, filter_no_terminal_punct=False),
        GopherQualityFilter(min_doc_words=2, min_avg_word_length=1, min_stop_words=0),
        C4QualityFilter(min_num_sentences=1, min_words_per_line=1, filter_no_terminal_punct=False),
        FineWebQualityFilter(line_punct_exclude_zero=True, short_line_thr=1, new_line_ratio=1),
    ]
    assert run(lenient, records, fuse=True) == run(lenient, records, fuse=False)


@dataclass
class Picky(TextFilter):
    """Fails on one text, and scores the others by their length."""

    reason = "too long"

    def score(self, text: DocumentText) -> float:
        if "JavaScript" in text:
            raise AssertionError("it was shown the text as it was before")
        if "thing33" in text:
            raise ValueError("it cannot read this")
        return len(text)

    def keeps(self, score: float) -> bool:
        return score < 10_000


def test_filters_after_an_edit_get_the_edited_text() -> None:
    records = [RECORDS[0], {"id": 8, "text": prose(3)}]
    stages = [C4QualityFilter(), Picky(score_field="length")]
    done = run_stages(stages, [DocumentBatch.from_pylist(records)], on_error="quarantine")
    [kept] = done.outputs
    assert isinstance(kept, DocumentBatch)
    assert kept.to_pylist() == [{"id": 0, "text": prose(1), "length": len(prose(1))}]
    [failed] = done.report.quarantined
    assert failed.stage == "picky"
    assert "it cannot read this" in failed.reason


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.null()])
def test_edited_column_keeps_its_type(kind: pa.DataType) -> None:
    texts = [None] if kind == pa.null() else [prose(1)]
    [kept, *_] = C4QualityFilter().process(DocumentBatch(pa.table({"text": pa.array(texts, kind)})))
    assert isinstance(kept, DocumentBatch)
    expected = pa.string() if kind == pa.null() else kind
    assert kept.data.schema.field("text").type == expected


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
def test_rule_sets_can_be_pickled(rules: RuleSet) -> None:
    assert pickle.loads(pickle.dumps(rules)) == rules


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
@pytest.mark.parametrize(
    "text",
    ["\x00", "\ud800", "e" + "\u0301" * 100_000, "שלום עולם", "好" * 100_000, "\r\n\r\na\r\n",
     "\u2028a\u2029b\x85c\x1cd", "#" * 100_000, "- \n" * 50_000, "a " * 100_000, "." * 100_000],
    ids=lambda text: ascii(text[:4]),
)  # fmt: skip
def test_hostile_texts_have_an_outcome(rules: RuleSet, text: str) -> None:
    reason = rules.evaluate(DocumentText(text))[1]
    assert reason is None or reason in reasons_named_by(rules)


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
@given(text=st.text())
def test_every_text_has_an_outcome(rules: RuleSet, text: str) -> None:
    if text.strip():
        reason = rules.evaluate(DocumentText(text))[1]
        assert reason is None or reason in reasons_named_by(rules)


def reasons_named_by(rules: RuleSet) -> str:
    """Return the reasons that the docstring of the class names."""
    numbered = " ".join(f"top_{n}_gram duplicated_{n}_n_grams" for n in range(2, 11))
    return f"{type(rules).__doc__} {numbered}"


@pytest.mark.parametrize("rules", ALL, ids=lambda rules: rules.name)
def test_blank_texts_are_dropped_with_a_reason(rules: RuleSet) -> None:
    batch = DocumentBatch(pa.table({"text": pa.array([None, "", " \n\u3000"], pa.string())}))
    [kept, dropped] = rules.process(batch)
    assert isinstance(kept, DocumentBatch)
    assert isinstance(dropped, Dropped)
    assert (kept.num_items, dropped.items) == (0, 3)
    assert dropped.reason in reasons_named_by(rules)


@pytest.mark.parametrize("workers", [0, 1])
def test_pipeline_counts_by_rule_and_writes_the_edited_text(tmp_path: Path, workers: int) -> None:
    batch = DocumentBatch.from_pylist(RECORDS)
    source = tmp_path / "in"
    source.mkdir()
    Pipeline("write", stages=[JsonlWriter(str(source))]).run(
        LocalExecutor(workers=0), tasks=[batch]
    )
    stages = [JsonlReader(f"{source}/*.jsonl"), *SETS, JsonlWriter(str(tmp_path / "out"))]
    result = Pipeline("sets", stages=stages).run(LocalExecutor(workers=workers))
    reasons = {name: dict(count.reasons) for name, count in result.stages.items() if count.reasons}
    assert reasons == {
        "gopher_repetition_filter": {"empty": 2},
        "gopher_quality_filter": {"gopher_short_doc": 1},
        "c4_quality_filter": {"lorem_ipsum": 1},
        "fine_web_quality_filter": {"char_dup_ratio": 1},
    }
    [written] = (tmp_path / "out").glob("*.jsonl")
    assert "JavaScript" not in written.read_text()
