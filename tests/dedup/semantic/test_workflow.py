"""Semantic deduplication agrees with all pairs in numpy, and handles invalid vectors."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import InputError, LocalExecutor, PipelineError, ResumeError, Workflow
from curator_core.errors import CuratorError
from curator_core.plugins.registry import plugins
from curator_dedup import SemanticDeduplicationWorkflow

HERE = LocalExecutor(workers=0)
Record = dict[str, Any]
Write = Callable[[Path, list[Record]], Path]
RecordsIn = Callable[[Path], list[Record]]
KilledAt = Callable[[Workflow, Sequence[str]], int]


def semantic(source: Path, out: Path, **options: Any) -> SemanticDeduplicationWorkflow:
    return SemanticDeduplicationWorkflow(str(source), str(out), **options)


def vectors(rows: int = 240, size: int = 12, seed: int = 0) -> np.ndarray[Any, Any]:
    """Return vectors of which a third are unique and the others are pairs of similar ones."""
    random = np.random.default_rng(seed)
    third = rows // 3
    alone = random.normal(size=(2 * third, size))
    near = alone[:third] + 0.03 * random.normal(size=(third, size))
    return np.concatenate((alone, near)) * random.uniform(0.1, 9, size=(3 * third, 1))


def corpus(folder: Path, matrix: np.ndarray[Any, Any], files: int = 4) -> Path:
    folder.mkdir(parents=True)
    rows = np.arange(len(matrix)).reshape(files, -1)
    for place, chosen in enumerate(rows):
        records = [{"id": int(row), "embedding": matrix[row].tolist()} for row in chosen]
        if place % 2:
            pq.write_table(pa.Table.from_pylist(records), folder / f"{place}.parquet", 25)
        else:
            lines = (json.dumps(record) + "\n" for record in records)
            (folder / f"{place}.jsonl").write_text("".join(lines))
    return folder


def ids(records: list[Record]) -> list[int]:
    return sorted(record["id"] for record in records)


def all_pairs(
    matrix: np.ndarray[Any, Any], centers: np.ndarray[Any, Any], eps: float, hard: bool
) -> tuple[list[int], list[int]]:
    """Return the kept rows, and those in no group, by the whole matrix of each cluster."""
    units = matrix / np.linalg.norm(matrix, axis=1)[:, None]
    products = units @ centers.T
    labels, best = products.argmax(axis=1), products.max(axis=1)
    firsts, alone = [], []
    for label in range(len(centers)):
        rows = np.flatnonzero(labels == label)
        rows = rows[np.argsort(best[rows] if hard else -best[rows], kind="stable")]
        near = np.triu(units[rows] @ units[rows].T >= 1 - eps, 1)
        is_first = ~near.any(axis=0)
        firsts += rows[is_first].tolist()
        alone += rows[is_first & ~near.any(axis=1)].tolist()
    return sorted(firsts), sorted(alone)


def centers_in(out: Path) -> np.ndarray[Any, Any]:
    [file] = out.glob(".curator/semantic_deduplication/centers/part-*")
    table = pq.read_table(file).sort_by("cluster")
    return np.array(table["vector"].to_pylist())


@pytest.mark.parametrize("clusters", [1, 5, None])
@pytest.mark.parametrize("which", ["hard", "easy"])
def test_agrees_with_comparing_all_pairs(
    tmp_path: Path, clusters: int | None, which: Any, records_in: RecordsIn
) -> None:
    matrix = vectors()
    source = corpus(tmp_path / "raw", matrix)
    out = tmp_path / "out"
    options = {"n_clusters": clusters, "which_to_keep": which, "eps": 0.02}
    counts = semantic(source, out, **options).run(HERE).metadata
    centers = centers_in(out)
    firsts, alone = all_pairs(matrix, centers, 0.02, which == "hard")
    assert ids(records_in(out)) == firsts
    assert len(firsts) < 200
    assert counts["removed"] == 240 - len(firsts)
    assert clusters is None or len(centers) == clusters
    semantic(source, tmp_path / "none", **options, keep="none").run(HERE)
    assert ids(records_in(tmp_path / "none")) == alone


def test_blocks_and_partitions_do_not_change_the_result(
    tmp_path: Path, records_in: RecordsIn
) -> None:
    source = corpus(tmp_path / "raw", vectors(600))
    results = []
    for name, options in (
        ("a", {}),
        ("b", {"input_blocksize": 30_000, "partitions": 4}),
        ("c", {"input_blocksize": 15_000, "memory": 100}),
    ):
        workflow = semantic(source, tmp_path / name, keep="mark", eps=0.02, **options)
        counts = workflow.run(HERE).metadata
        marks = [
            (r["id"], r["cluster_id"], r["cluster_size"], r["is_duplicate"])
            for r in records_in(tmp_path / name)
        ]
        results.append((sorted(marks), counts))
    assert results[0] == results[1] == results[2]
    assert results[0][1]["duplicates"] > 150


def test_random_choice_depends_on_the_seed_only(tmp_path: Path, records_in: RecordsIn) -> None:
    source = corpus(tmp_path / "raw", vectors())
    kept = []
    for place, seed in enumerate((1, 1, 2)):
        out = tmp_path / f"{place}"
        semantic(source, out, which_to_keep="random", random_state=seed, n_clusters=1).run(HERE)
        kept.append(ids(records_in(out)))
    assert kept[0] == kept[1] != kept[2]
    assert len(kept[0]) == len(kept[2])


def test_clusters_are_marked_and_decisions_name_the_nearest(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    rows = [[1, 0], [0, 1], [2, 0], [1, 0.001], None]
    records = [{"id": f"n{place}", "embedding": row} for place, row in enumerate(rows)]
    source = write(tmp_path / "a.jsonl", records)
    workflow = semantic(source, tmp_path / "out", keep="mark", id_field="id", n_clusters=1,
                        which_to_keep="easy")  # fmt: skip
    counts = workflow.run(HERE).metadata
    assert counts == {"documents": 5, "empty": 1, "no_records": 0, "groups": 1, "duplicates": 2,
                    "removed": 0, "kept": 5}  # fmt: skip
    marks = {r["id"]: (r["cluster_size"], r["is_duplicate"]) for r in records_in(tmp_path / "out")}
    assert marks == {"n0": (3, True), "n1": (1, False), "n2": (3, True), "n3": (3, False),
                     "n4": (1, False)}  # fmt: skip
    [file] = (tmp_path / "out/.curator/semantic_deduplication/decisions").glob("part-*")
    found = {row["id"]: row for row in pq.read_table(file).to_pylist()}
    assert {name: row["nearest_id"] for name, row in found.items()} == {
        "n0": "n3", "n2": "n0", "n3": None,
    }  # fmt: skip
    assert found["n2"]["similarity"] == 1
    assert found["n3"]["similarity"] is None
    assert 0.99999 < found["n0"]["similarity"] < 1
    assert len({row["cluster_id"] for row in found.values()}) == 1


@pytest.mark.parametrize(
    "kind",
    [pa.list_(pa.float16()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 3),
     pa.list_(pa.float16(), 3), pa.list_(pa.int8()), "tensor"],
    ids=str,
)  # fmt: skip
def test_vectors_of_every_number_type_are_read(
    tmp_path: Path, kind: Any, records_in: RecordsIn
) -> None:
    rows = [[1, 2, 3], None, [3, 2, 1], [2, 4, 6]]
    if kind == "tensor":
        values = pa.array([1, 2, 3, 0, 0, 0, 3, 2, 1, 2, 4, 6], pa.float32())
        storage = pa.FixedSizeListArray.from_arrays(values, 3)
        column = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [3]), storage)
    else:
        column = pa.array(rows, kind)
    table = pa.table({"id": [0, 1, 2, 3], "embedding": column})
    pq.write_table(table, tmp_path / "a.parquet")
    counts = semantic(tmp_path / "a.parquet", tmp_path / "out").run(HERE).metadata
    assert ids(records_in(tmp_path / "out")) == [0, 1, 2]
    assert (counts["empty"], counts["duplicates"]) == (1, 1)
    [out] = (tmp_path / "out").glob("part-*")
    assert pq.read_schema(out).field("embedding").type == column.type


def test_zero_and_missing_vectors_are_no_duplicates(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    rows = [None, [0.0, 0.0], [], [1, 1], None, [0, 0], [1e-30, 1e-30], [1e300, 0], [2e-300, 0]]
    records = [{"id": place, "embedding": row} for place, row in enumerate(rows)]
    source = write(tmp_path / "a.jsonl", [*records, {"id": 9}])
    counts = semantic(source, tmp_path / "out").run(HERE).metadata
    assert ids(records_in(tmp_path / "out")) == [0, 1, 2, 3, 4, 5, 7, 9]
    assert (counts["documents"], counts["empty"], counts["removed"]) == (10, 6, 2)
    counts = semantic(source, tmp_path / "full", keep_empty=False).run(HERE).metadata
    assert ids(records_in(tmp_path / "full")) == [3, 7]
    assert (counts["removed"], counts["kept"]) == (8, 2)


BAD: list[tuple[str, Any, str]] = [
    ("jsonl", [1, "x"], r"a\.jsonl byte 46: the vector in 'embedding' has 'x' among its numbers"),
    ("jsonl", [1, None], r"byte 46: .* has None among its numbers"),
    ("jsonl", [1, True], r"byte 46: .* has True among its numbers"),
    ("jsonl", [1, 2, 3], r"byte 46: .* has 3 numbers, but others have 2"),
    ("jsonl", "[1, 2]", r"byte 46: .* is '\[1, 2\]', not a list of numbers"),
    ("jsonl", [1, [2]], r"byte 46: .* has \[2\] among its numbers"),
    ("parquet", [1, float("nan")], r"a\.parquet row 2: .* has nan among its numbers"),
    ("parquet", [float("-inf"), 1.0], r"row 2: .* has -inf among its numbers"),
    ("parquet", [1.0, None], r"row 2: .* has an empty number \(null\) in it"),
    ("parquet", [1.0], r"row 2: .* has 1 numbers, but others have 2"),
]


@pytest.mark.parametrize(("ending", "bad", "message"), BAD)
def test_invalid_vector_is_reported_with_file_and_row(
    tmp_path: Path, write: Write, ending: str, bad: Any, message: str
) -> None:
    records = [{"embedding": row} for row in ([1.0, 2.0], None, bad)]
    source = write(tmp_path / f"a.{ending}", records)
    with pytest.raises(CuratorError, match=message):
        semantic(source, tmp_path / "out").run(HERE)
    assert not list((tmp_path / "out").glob("part-*"))


def test_vectors_of_different_lengths_are_refused(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "raw/a.jsonl", [{"embedding": [1, 2]}])
    write(tmp_path / "raw/b.parquet", [{"embedding": [1.0, 2.0, 3.0]}])
    message = r"vectors have 2 numbers in .*a\.jsonl \(row 0\), but 3 in .*b\.parquet \(row 0\)"
    with pytest.raises(CuratorError, match=message):
        semantic(tmp_path / "raw", tmp_path / "out").run(HERE)
    pq.write_table(pa.table({"embedding": ["1", "2"]}), tmp_path / "c.parquet")
    with pytest.raises(CuratorError, match=r"c\.parquet row 0: .* is string, not a list"):
        semantic(tmp_path / "c.parquet", tmp_path / "out2").run(HERE)


def test_input_without_vectors_is_refused(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"embedding": None}])
    with pytest.raises(CuratorError, match="no document has a vector in 'embedding'"):
        semantic(source, tmp_path / "out").run(HERE)


def test_invalid_lines_are_quarantined(tmp_path: Path, records_in: RecordsIn) -> None:
    lines = ['{"id": 0, "embedding": [1, 0]}', "{broken", '{"id": 1, "embedding": [0, 1]}', "[1]"]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    result = semantic(tmp_path / "a.jsonl", tmp_path / "out").run(HERE)
    assert ids(records_in(tmp_path / "out")) == [0, 1]
    assert result.metadata["no_records"] == 2
    assert len(result.runs["assign"].quarantined) == 2


def test_equal_vectors_are_compared_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records_in: RecordsIn
) -> None:
    from curator_dedup.semantic import compare

    compared = []
    plain = compare.find_neighbours

    def counting(rows: Any, *others: Any) -> Any:
        compared.append(len(rows))
        return plain(rows, *others)

    monkeypatch.setattr(compare, "find_neighbours", counting)
    rows = pa.FixedSizeListArray.from_arrays(pa.array(np.tile([0.3, 0.4], 200_000)), 2)
    pq.write_table(pa.table({"id": range(200_000), "embedding": rows}), tmp_path / "a.parquet")
    counts = semantic(tmp_path / "a.parquet", tmp_path / "out").run(HERE).metadata
    assert compared == [1]
    assert ids(records_in(tmp_path / "out")) == [0]
    assert counts["removed"] == 199_999


def test_added_input_gives_the_result_of_a_fresh_run(tmp_path: Path, records_in: RecordsIn) -> None:
    matrix = vectors()
    source = corpus(tmp_path / "raw", matrix)
    held = (source / "2.jsonl").rename(tmp_path / "2.jsonl")
    workflow = semantic(source, tmp_path / "out", n_clusters=4, eps=0.02)
    workflow.run(HERE)
    assert workflow.run(HERE).did_nothing
    held.rename(source / "2.jsonl")
    counts = workflow.run(HERE).metadata
    fresh = semantic(source, tmp_path / "fresh", n_clusters=4, eps=0.02).run(HERE).metadata
    assert counts == fresh
    assert ids(records_in(tmp_path / "out")) == ids(records_in(tmp_path / "fresh"))


def test_changed_options_are_refused_on_resume(tmp_path: Path) -> None:
    source = corpus(tmp_path / "raw", vectors(60))
    semantic(source, tmp_path / "out").run(HERE)
    with pytest.raises(ResumeError, match="eps"):
        semantic(source, tmp_path / "out", eps=0.5).run(HERE)


def test_all_invalid_options_are_reported(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"embeding": [1], "is_duplicate": 1}])
    workflow = semantic(
        source, tmp_path / "out", keep="mark", which_to_keep="harder", eps=-1.0, n_clusters=0,
        init="kmeans", memory="much", max_iter=0, tol=-1.0, partitions=5000, id_field="",
    )  # fmt: skip
    with pytest.raises(PipelineError) as caught:
        workflow.run(HERE)
    message = str(caught.value)
    assert "which_to_keep is 'harder' (did you mean hard?)" in message
    assert "eps is -1.0, but must be 0 (the same direction) or more, and below 1" in message
    assert "n_clusters is 0, but must be 1 or more" in message
    assert "max_iter is 0" in message
    assert "tol is -1.0" in message
    assert "init is 'kmeans' (did you mean k-means++?)" in message
    assert "memory is 'much', but must be a size" in message
    assert "partitions is 5000" in message
    assert "id_field is empty" in message
    assert "embedding_field is 'embedding', but a.jsonl has no such field" in message
    assert "(did you mean embeding?)" in message
    assert "a.jsonl has a field 'is_duplicate' already" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 1.0}, "eps is 1.0, but must be .* below 1"),
        ({"eps": float("nan")}, "eps is nan, but must be"),
        ({"random_state": -1}, r"random_state is -1, but must be from 0 to 2\*\*64 - 1"),
        ({"memory": None}, "memory is None, but must be a size"),
        ({"n_clusters": 9, "sample_size": 8}, "sample_size is 8, but must be at least n_clusters"),
    ],
)
def test_numbers_out_of_range_are_refused(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    source = corpus(tmp_path / "raw", vectors(12))
    with pytest.raises(PipelineError, match=message):
        semantic(source, tmp_path / "out", **options).run(HERE)


def test_more_clusters_than_vectors_are_refused(tmp_path: Path) -> None:
    source = corpus(tmp_path / "raw", vectors(12))
    with pytest.raises(InputError, match="n_clusters is 1,000, but there are only 12 vectors"):
        semantic(source, tmp_path / "out", n_clusters=1000).run(HERE)


def test_files_may_lack_ids_but_not_vectors(tmp_path: Path) -> None:
    source = corpus(tmp_path / "raw", vectors(12))
    pq.write_table(pa.table({"embedding": [[9.0] * 12] * 2}), source / "z.parquet")
    workflow = semantic(source, tmp_path / "out", id_field="id", n_clusters=1)
    assert workflow.run(HERE).metadata["documents"] == 14
    pq.write_table(pa.table({"vector": [[9.0] * 12] * 2}), source / "z.parquet")
    with pytest.raises(CuratorError, match=r"z\.parquet has no column 'embedding'; leave the file"):
        semantic(source, tmp_path / "other").run(HERE)


def test_workflow_is_registered() -> None:
    found = plugins().workflows.load("dedup.semantic")
    assert found is SemanticDeduplicationWorkflow


def test_killed_run_resumes_with_the_same_result(
    tmp_path: Path, records_in: RecordsIn, killed_at: KilledAt
) -> None:
    source = corpus(tmp_path / "raw", vectors(900), files=6)
    semantic(source, tmp_path / "whole", partitions=4, eps=0.02).run(HERE)
    out = tmp_path / "out"
    workflow = semantic(source, out, input_blocksize=20_000, partitions=4, eps=0.02)
    folders = ("sample", "centers", "assignments", "decisions")
    assert killed_at(workflow, [f"{folder}/part-*" for folder in folders]) > 1
    workflow.run(HERE)
    assert ids(records_in(out)) == ids(records_in(tmp_path / "whole"))
    assert not list(out.rglob("*.staged"))
