"""A global shuffle: every row once, in an order that only the seed and the data decide."""

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import (
    DocumentBatch,
    Empty,
    FileGroup,
    LocalExecutor,
    PipelineError,
    StageError,
)
from curator_core.io.shuffle import ExchangeListing
from curator_text import ShuffleWorkflow
from curator_text.mixing.random_order import BucketReading

HERE = LocalExecutor(workers=0)
Corpus = Callable[..., Path]
RowsOf = Callable[[Path | str], list[dict[str, Any]]]


def shuffle(source: Path, out: Path, **options: Any) -> ShuffleWorkflow:
    return ShuffleWorkflow(str(source), output_path=str(out), **options)


def test_every_row_is_written_once_in_another_order(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    source = corpus("raw", 500, files=5)
    workflow = shuffle(source, tmp_path / "out", bucket_size="2kB")
    result = workflow.run(HERE)
    assert result.metadata == {"rows": 500, "buckets": 16}
    numbers = [row["number"] for row in rows_of(tmp_path / "out")]
    assert sorted(numbers) == list(range(500))
    assert set(rows_of(tmp_path / "out")[0]) == {"text", "number"}
    in_order = sum(b - a in (1, 5) for a, b in pairwise(numbers))
    assert in_order < 20
    halves = [sum(n % 5 == f for n in numbers[:250]) for f in range(5)]
    assert all(25 <= half <= 75 for half in halves)


def numbers_by_key(work: Path, buckets: int) -> list[int]:
    """Return the contents of the buckets in order; file names depend on the input's path."""
    reading = BucketReading(buckets)
    groups = ExchangeListing(str(work / "buckets"), buckets).process(Empty())
    batches = [batch for group in groups for batch in reading.process(group)]
    return [number for batch in batches for number in batch.data["number"].to_pylist()]


def test_order_depends_only_on_seed_and_data(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path
) -> None:
    source = corpus("raw", 300, files=3)
    moved = tmp_path / "elsewhere"
    shutil.copytree(source, moved, copy_function=shutil.copyfile)
    orders = []
    variants = [
        (source, HERE, {"bucket_size": "1GiB"}),
        (moved, LocalExecutor(workers=2), {"bucket_size": "1GiB"}),
        (source, HERE, {"bucket_size": "1GiB", "seed": 1}),
    ]
    for number, (folder, executor, options) in enumerate(variants):
        out = tmp_path / f"out{number}"
        shuffle(folder, out, **options).run(executor)
        orders.append([row["number"] for row in rows_of(out)])
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])
    small = shuffle(source, tmp_path / "small", bucket_size="1kB", work_path=str(tmp_path / "work"))
    small.run(HERE)
    buckets = small.bucket_count(small.size_of([str(source)]))
    assert len(list((tmp_path / "small").glob("part-*"))) == buckets
    assert numbers_by_key(tmp_path / "work", buckets) == orders[0]


def test_equal_texts_are_spread(corpus: Corpus, rows_of: RowsOf, tmp_path: Path) -> None:
    corpus("raw/same", 50, text="the same")
    corpus("raw/others", 50)
    shuffle(tmp_path / "raw", tmp_path / "out").run(HERE)
    same = [row["text"] == "the same" for row in rows_of(tmp_path / "out")]
    assert sum(a != b for a, b in pairwise(same)) > 20


def test_finished_shuffle_is_skipped_and_interrupted_one_resumes(
    corpus: Corpus, rows_of: RowsOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = corpus("raw", 100, files=2)
    workflow = shuffle(source, tmp_path / "out")

    def broken(self: BucketReading, task: FileGroup) -> Iterator[DocumentBatch]:
        raise OSError("the disk is away")

    with monkeypatch.context() as patched:
        patched.setattr(BucketReading, "process", broken)
        with pytest.raises(StageError, match="the disk is away"):
            workflow.run(HERE)
    assert not list((tmp_path / "out").glob("part-*"))
    result = workflow.run(HERE)
    assert result.runs["scatter"].sources_done == 0
    assert len(rows_of(tmp_path / "out")) == 100
    assert workflow.run(HERE).did_nothing


def test_grown_input_is_shuffled_again(corpus: Corpus, rows_of: RowsOf, tmp_path: Path) -> None:
    source = corpus("raw", 10)
    workflow = shuffle(source, tmp_path / "out")
    workflow.run(HERE)
    (source / "more.jsonl").write_text(json.dumps({"text": "more", "number": 10}) + "\n")
    workflow.run(HERE)
    assert sorted(row["number"] for row in rows_of(tmp_path / "out")) == list(range(11))


def test_parquet_is_read_and_written(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for place in range(2):
        table = pa.table({"text": [f"{place} {n}" for n in range(20)], "n": range(20)})
        pq.write_table(table, tmp_path / "raw" / f"{place}.parquet")
    shuffle(tmp_path / "raw", tmp_path / "out", output_format="parquet").run(HERE)
    [path] = (tmp_path / "out").glob("part-*.parquet")
    assert sorted(pq.read_table(path)["n"].to_pylist()) == sorted([*range(20)] * 2)


def test_all_invalid_options_are_reported(tmp_path: Path) -> None:
    workflow = ShuffleWorkflow(
        "",
        output_path="",
        output_format="parqet",
        bucket_size="2GiB",  # type: ignore[arg-type]
    )
    with pytest.raises(PipelineError) as caught:
        workflow.run(HERE)
    message = str(caught.value)
    assert "shuffle: output_path is empty" in message
    assert "output_format is 'parqet' (did you mean parquet?)" in message
    assert "bucket_size is 2GiB, but must not exceed 1GiB" in message
    assert "input_paths is empty" in message
    with pytest.raises(PipelineError, match="bucket_size is 'big', but must be a size"):
        shuffle(tmp_path, tmp_path / "out", bucket_size="big").run(HERE)


def test_mixed_file_formats_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    source = corpus("raw", 10)
    pq.write_table(pa.table({"text": ["a"]}), source / "b.parquet")
    with pytest.raises(PipelineError, match=r"raw match Parquet files and others"):
        shuffle(source, tmp_path / "out").run(HERE)


def test_empty_input_is_allowed_on_request(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    workflow = shuffle(tmp_path / "raw", tmp_path / "out")
    with pytest.raises(PipelineError, match="no files match"):
        workflow.run(HERE)
    assert workflow.run(HERE, allow_empty=True).metadata["rows"] == 0
