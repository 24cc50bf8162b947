import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import DocumentBatch, InputError, Pipeline, PipelineError, StageError
from curator_core.testing import check_stage, run_stage
from curator_text import ScoreBuckets
from curator_text.buckets import quantile_edges
from hypothesis import given
from hypothesis import strategies as st


def batch(*scores: Any) -> DocumentBatch:
    return DocumentBatch.from_pylist([{"score": score} for score in scores])


def buckets(stage: ScoreBuckets, *scores: Any) -> list[str | None]:
    [out] = run_stage(stage, batch(*scores))
    return list(out.data["bucket"].to_pylist())


def test_score_equal_to_a_threshold_belongs_above_it() -> None:
    stage = ScoreBuckets("score", thresholds=[0.3, 0.7])
    found = buckets(stage, 0.0, 0.299, 0.3, 0.69, 0.7, 9.0, None, float("nan"), -float("inf"))
    assert found == ["low", "low", "medium", "medium", "high", "high", None, None, "low"]


def test_integer_scores_and_custom_names() -> None:
    stage = ScoreBuckets("score", thresholds=[3], names=["bad", "good"])
    assert buckets(stage, 2, 3, None) == ["bad", "good", None]


@given(st.lists(st.floats(-1e6, 1e6), min_size=100, max_size=200, unique=True))
def test_quantiles_divide_the_measured_scores(scores: list[float]) -> None:
    edges = quantile_edges(scores, [0.25, 0.75])
    below = sum(score < edges[0] for score in scores)
    assert below == pytest.approx(len(scores) / 4, abs=1)
    assert sum(score >= edges[1] for score in scores) == pytest.approx(len(scores) / 4, abs=1)


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "jsonl.gz"])
def test_quantiles_are_measured_on_earlier_files(tmp_path: Path, ending: str) -> None:
    rows = [{"score": n / 100, "id": n} for n in range(200)] + [{"score": None, "id": -1}]
    lines = "\n".join(map(json.dumps, rows)).encode()
    if ending == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "part.parquet")
    else:
        content = gzip.compress(lines) if ending.endswith("gz") else lines
        (tmp_path / f"part.{ending}").write_bytes(content)
    (tmp_path / "_manifest.json").write_text("{}")
    stage = ScoreBuckets("score", quantiles=[0.5, 0.9], measured_on=str(tmp_path))
    assert buckets(stage, 0.9, 1.1, 1.95) == ["low", "medium", "high"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "thresholds and quantiles are both missing; give one"),
        ({"thresholds": [0.1, 0.2], "quantiles": [0.1, 0.2]}, "both set; give one"),
        ({"quantiles": [0.1, 0.2]}, "quantiles and measured_on must be set"),
        ({"thresholds": [0.7, 0.3]}, r"limits \[0.7, 0.3\] are not in asc"),
        ({"thresholds": [0.3]}, "1 limits make 2 buckets, but names has 3: low, medium, high"),
        ({"quantiles": [0.5, 90], "measured_on": "x"}, "must be between 0 and 1"),
        ({"thresholds": [1], "names": ["a", "a"]}, "same name: a, a"),
    ],
)
def test_invalid_options_are_problems_of_the_plan(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(PipelineError, match=problem):
        Pipeline("p", stages=[ScoreBuckets("score", **options)]).run(tasks=[batch(0.5)])


def test_unusable_samples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="measured_on has 3 scores, too few"):
        quantile_edges([1, 2, 3], [0.5])
    with pytest.raises(InputError, match="too many scores are equal; give thresholds"):
        quantile_edges([1.0] * 200, [0.5, 0.9])
    stage = ScoreBuckets("score", quantiles=[0.5, 0.9], measured_on=str(tmp_path))
    with pytest.raises(StageError, match="has no file that ends in"):
        buckets(stage, 1.0)
    (tmp_path / "a.jsonl").write_text('{"other": 1}\n')
    with pytest.raises(StageError, match=r"a\.jsonl has no numbers in 'score'"):
        buckets(stage, 1.0)
    (tmp_path / "a.jsonl").unlink()
    pq.write_table(pa.table({"score": ["high"]}), tmp_path / "a.parquet")
    with pytest.raises(StageError, match=r"cannot read scores from .*a\.parquet: could not conv"):
        buckets(stage, 1.0)


def test_column_of_other_values_is_refused() -> None:
    with pytest.raises(StageError, match="column 'score' holds string, but must hold numbers"):
        buckets(ScoreBuckets("score", thresholds=[1, 2]), "high")


def test_stage_fulfills_the_stage_contract() -> None:
    check_stage(ScoreBuckets("score", thresholds=[0.3, 0.7]), batch(0.1, 0.5, None))
