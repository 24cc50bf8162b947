"""Splits by hash: stable, exact on average, and never two sides for one value."""

import random
from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch
from curator_core.testing import check_stage, run_stage
from curator_text import HashSplitter


def split(rows: list[dict[str, Any]], **options: Any) -> list[str]:
    [batch] = run_stage(HashSplitter(**options), DocumentBatch.from_pylist(rows))
    found: list[str] = batch.data["split"].to_pylist()
    return found


def texts(number: int) -> list[dict[str, Any]]:
    return [{"text": f"document {n}", "site": f"site{n % 50}"} for n in range(number)]


@pytest.mark.parametrize("seed", range(3))
def test_shares_are_exact_on_average(seed: int) -> None:
    shares = {"train": 0.9, "validation": 0.07, "test": 0.03}
    parts = split(texts(20_000), shares=shares, seed=seed)
    for name, share in shares.items():
        deviation = (20_000 * share * (1 - share)) ** 0.5
        assert abs(parts.count(name) - 20_000 * share) < 4 * deviation


def test_document_keeps_its_part_when_others_are_added() -> None:
    few = dict(zip((r["text"] for r in texts(200)), split(texts(200)), strict=True))
    more = texts(1000)
    random.Random(1).shuffle(more)
    many = dict(zip((row["text"] for row in more), split(more), strict=True))
    assert {text: many[text] for text in few} == few


def test_documents_with_equal_columns_stay_together() -> None:
    parts = split(texts(1000), by=["site"], shares={"train": 0.5, "test": 0.5})
    sides: dict[str, set[str]] = {}
    for row, part in zip(texts(1000), parts, strict=True):
        sides.setdefault(row["site"], set()).add(part)
    assert all(len(side) == 1 for side in sides.values())
    assert set(parts) == {"train", "test"}


def test_moved_border_moves_only_nearby_documents() -> None:
    before = split(texts(2000), shares={"train": 0.8, "test": 0.2})
    after = split(texts(2000), shares={"train": 0.9, "test": 0.1})
    changes = {(a, b) for a, b in zip(before, after, strict=True) if a != b}
    assert changes == {("test", "train")}


def test_column_type_makes_no_difference() -> None:
    values = ["a", None, "", "b"]
    parts = []
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        batch = DocumentBatch(pa.table({"text": pa.array(values, kind)}))
        shares = {str(n): 0.1 for n in range(10)}
        [made] = run_stage(HashSplitter(shares, seed=3), batch)
        parts.append(made.data["split"].to_pylist())
    assert parts[0] == parts[1] == parts[2]


def test_part_with_share_zero_is_empty() -> None:
    parts = split(texts(500), shares={"a": 0.0, "train": 1.0, "test": 0.0})
    assert set(parts) == {"train"}


def test_column_boundaries_matter() -> None:
    shares = {str(n): 1 / 64 for n in range(64)}
    rows = [{"a": "xy", "b": "z"}, {"a": "x", "b": "yz"}, {"a": "xyz", "b": None}]
    assert len(set(split(rows, by=["a", "b"], shares=shares))) == 3


def test_invalid_options_are_reported() -> None:
    [no_columns, wrong_total] = HashSplitter({"train": 0.9, "test": 0.2}, by=[]).check()
    assert "by is empty" in no_columns
    assert "shares add up to 1.1" in wrong_total
    assert "the share of 'test' is -0.1, but must be between 0 and 1" in list(
        HashSplitter({"train": 1.1, "test": -0.1}).check()
    )
    [problem] = HashSplitter({}).check()
    assert "shares is empty" in problem
    [problem] = HashSplitter(by=["split"]).check()
    assert "split_field is 'split'" in problem


def test_stage_fulfills_the_stage_contract() -> None:
    check_stage(HashSplitter(), DocumentBatch.from_pylist(texts(20)))
