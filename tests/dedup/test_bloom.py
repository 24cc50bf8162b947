"""The filter agrees with a set; the stage runs in pipelines, on several workers, and in retries."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_core import DocumentBatch, JsonlReader, LocalExecutor, Pipeline, PipelineError
from curator_core.plugins.registry import plugins
from curator_core.testing import run_stage
from curator_dedup import BloomDeduplication
from curator_dedup.bloom import BloomFilter, GrowingFilter
from hypothesis import given
from hypothesis import strategies as st
from linekit import line, texts_in, write_texts


def words(numbers: Any) -> Any:
    random = np.random.default_rng(0)
    table = random.integers(0, 2**64, size=(100_000, 2), dtype=np.uint64)
    return table[np.asarray(numbers, np.int64)]


def batch(*texts: str | None) -> DocumentBatch:
    return DocumentBatch.from_pylist([{"id": n, "text": text} for n, text in enumerate(texts)])


def kept(stage: BloomDeduplication, *tasks: DocumentBatch) -> list[list[Any]]:
    return [[row["text"] for row in task.to_pylist()] for task in run_stage(stage, *tasks)]


@given(st.lists(st.lists(st.integers(0, 40), max_size=15), max_size=8))
def test_agrees_with_a_set(batches: list[list[int]]) -> None:
    found = GrowingFilter(4, 1e-9)
    seen: set[int] = set()
    for numbers in batches:
        wanted = []
        for number in numbers:
            wanted.append(number not in seen)
            seen.add(number)
        assert found.add_new(words(numbers).reshape(-1, 2)).tolist() == wanted


@pytest.mark.parametrize("rate", [0.1, 0.01])
def test_false_positive_rate_is_as_stated(rate: float) -> None:
    plain = BloomFilter(20_000, rate)
    plain.add(words(range(20_000)))
    assert plain.has(words(range(20_000))).all()
    wrong = plain.has(words(range(20_000, 100_000))).mean()
    assert rate / 3 < wrong < 1.1 * rate
    growing = GrowingFilter(1000, rate)
    taken = growing.add_new(words(range(20_000)))
    assert 1 - taken.mean() < rate
    again = ~growing.add_new(words(range(20_000, 100_000)))
    assert again.mean() < rate


def test_repeated_documents_are_dropped() -> None:
    first, second = batch("a", "b", "a", None, ""), batch("b", "c", "", "A ", None, "  ")
    assert kept(BloomDeduplication(), first, second) == [
        ["a", "b", None, ""], ["c", "", "A ", None, "  "],
    ]  # fmt: skip
    assert kept(BloomDeduplication(normalize=True), first, second) == [
        ["a", "b", None, ""], ["c", "", None, "  "],
    ]  # fmt: skip


def test_repeated_lines_are_cut_out() -> None:
    first = batch("Menu\nfirst", "menu\nMenu\nsecond\n***", None)
    second = batch("Menu", "***\nthird\n\nMenu!", "")
    assert kept(BloomDeduplication(unit="lines"), first, second) == [
        ["Menu\nfirst", "menu\nsecond\n***", None], ["third\n\nMenu!", ""],
    ]  # fmt: skip
    assert kept(BloomDeduplication(unit="lines", normalize=True), first, second) == [
        ["Menu\nfirst", "second\n***", None], ["***\nthird", ""],
    ]  # fmt: skip


def test_retried_task_is_not_its_own_duplicate() -> None:
    task = batch("a", "b", "a")
    task.task_id = "one"
    other = batch("a", "b")
    for unit in ("documents", "lines"):
        given = kept(BloomDeduplication(unit=unit), task, task, other)
        assert given == [["a", "b"], ["a", "b"]]


def test_one_worker_runs_the_filter(tmp_path: Path) -> None:
    for place in range(6):
        texts = [f"t{(n + place) % 50}" for n in range(50)]
        write_texts(tmp_path / "in" / f"{place}.jsonl", texts)
    line(tmp_path, BloomDeduplication()).run(LocalExecutor(workers=2))
    assert sorted(texts_in(tmp_path)) == sorted(f"t{n}" for n in range(50))


def test_all_invalid_options_are_reported() -> None:
    stage = BloomDeduplication("", "line", false_positive_rate=0.0, capacity=0)  # type: ignore[arg-type]
    with pytest.raises(PipelineError) as caught:
        Pipeline("p", stages=[JsonlReader("x.jsonl"), stage]).build()
    message = str(caught.value)
    assert "text_field is empty" in message
    assert "unit is 'line' (did you mean lines?)" in message
    assert "false_positive_rate is 0.0, but must be between 0 and 1" in message
    assert "capacity is 0" in message


def test_workflow_is_registered() -> None:
    assert plugins().stages.load("dedup.bloom_deduplication") is BloomDeduplication
