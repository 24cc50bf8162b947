"""Exact deduplication agrees with a dictionary, on any corpora and options."""

import itertools
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_core import (
    BudgetError,
    InputError,
    LocalExecutor,
    PipelineError,
    ResumeError,
    Workflow,
)
from curator_core.io.readers import lines as core_lines
from curator_core.plugins.registry import plugins
from curator_dedup import ExactDeduplicationWorkflow
from curator_dedup.hashing import text_hashes
from curator_dedup.passes.list import BlockListing
from hypothesis import given, settings
from hypothesis import strategies as st

HERE = LocalExecutor(workers=0)
Record = dict[str, Any]
Write = Callable[[Path, list[Record]], Path]
RecordsIn = Callable[[Path], list[Record]]
KilledAt = Callable[[Workflow, Sequence[str]], int]


def exact(source: Path | str | list[str], out: Path, **options: Any) -> ExactDeduplicationWorkflow:
    return ExactDeduplicationWorkflow(str(source) if not isinstance(source, list) else source,
                                      str(out), **options)  # fmt: skip


def ids(records: list[Record]) -> list[int]:
    return sorted(record["id"] for record in records)


def expected(
    files: dict[str, list[Record]], keep: str, keep_empty: bool, priority: str | None
) -> list[int]:
    """Return the ids that are kept, by a dictionary from texts to documents, the best first."""
    groups: dict[str, list[tuple[float, str, int, int]]] = {}
    kept = []
    for name, records in files.items():
        for row, record in enumerate(records):
            text = record.get("text")
            if text is None or not text.strip():
                kept += [record["id"]] if keep_empty else []
                continue
            score = record.get(priority) if priority else 0
            worth = -float("-inf") if score is None else -score
            groups.setdefault(text, []).append((worth, name, row, record["id"]))
    for group in groups.values():
        best, *others = sorted(group)
        if keep == "mark" or not others:
            kept += [one[-1] for one in group]
        elif keep == "one":
            kept.append(best[-1])
    return sorted(kept)


TEXTS = st.sampled_from(
    ["a", "b", "ä", "A", " a", "long " * 50, "line\nline", '"\\', "", "  ", None]
)
RECORDS = st.lists(
    st.fixed_dictionaries({"text": TEXTS, "score": st.sampled_from([None, 0.5, 1.0, -2.0])}),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25)
@given(
    files=st.lists(
        st.tuples(st.sampled_from([".jsonl", ".parquet"]), RECORDS), min_size=1, max_size=5
    ),
    keep=st.sampled_from(["one", "none", "mark"]),
    keep_empty=st.booleans(),
    priority_field=st.sampled_from([None, "score"]),
    partitions=st.sampled_from([None, 3]),
    output_format=st.sampled_from(["same", "jsonl", "parquet"]),
    add_clusters=st.sampled_from([None, True]),
)
def test_agrees_with_a_dictionary_of_texts(
    write: Write,
    records_in: RecordsIn,
    files: list[tuple[str, list[Record]]],
    keep: str,
    keep_empty: bool,
    **options: Any,
) -> None:
    number = itertools.count()
    with tempfile.TemporaryDirectory() as folder:
        named = {}
        for place, (ending, records) in enumerate(files):
            path = Path(folder, "raw", f"{place}{ending}")
            named[str(path)] = [{**record, "id": next(number)} for record in records]
            write(path, named[str(path)])
        wanted = expected(named, keep, keep_empty, options["priority_field"])
        workflow = exact(
            Path(folder, "raw"), Path(folder, "out"), keep=keep, keep_empty=keep_empty, **options
        )
        result = workflow.run(HERE)
        assert ids(records_in(Path(folder, "out"))) == wanted
        assert result.metadata["kept"] == len(wanted)
        assert result.metadata["documents"] == next(number)


def corpus(folder: Path, write: Write, files: int = 4, rows: int = 60) -> Path:
    for place in range(files):
        ending = "parquet" if place % 2 else "jsonl"
        records = [
            {"id": 1000 * place + row, "text": f"text {(row * (place + 3)) % 41}"}
            for row in range(rows)
        ]
        write(folder / f"{place}.{ending}", records)
    return folder


def test_kept_lines_are_copied_byte_by_byte(tmp_path: Path) -> None:
    kept = '{ "text" :"one\\u00e9", "n": 1.50, "big": 123456789012345678901234567890 }\r\n'
    raw = tmp_path / "raw.jsonl"
    raw.write_bytes(b"\xef\xbb\xbf" + (kept + "\n  \n" + kept + '{"text": "two"}').encode())
    exact(raw, tmp_path / "out").run(HERE)
    [out] = (tmp_path / "out").glob("part-*")
    assert out.read_bytes().strip() == (kept + '{"text": "two"}').encode()


def test_workers_and_block_size_do_not_change_the_result(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    source = corpus(tmp_path / "raw", write)
    results = []
    for name, executor, options in (
        ("a", HERE, {}),
        ("b", LocalExecutor(workers=2), {"input_blocksize": 500, "partitions": 4}),
        ("c", HERE, {"input_blocksize": 200}),
    ):
        counts = exact(source, tmp_path / name, **options).run(executor).metadata
        results.append((ids(records_in(tmp_path / name)), counts))
    assert results[0] == results[1] == results[2]
    assert results[0][1] == {
        "documents": 240, "empty": 0, "no_records": 0, "groups": 41, "duplicates": 199,
        "removed": 199, "kept": 41,
    }  # fmt: skip


def test_rows_of_a_split_file_keep_their_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write, records_in: RecordsIn
) -> None:
    monkeypatch.setattr(core_lines, "PIECE_BYTES", 64)
    records = [{"id": n, "text": f"t{n // 2}"} for n in range(300)]
    write(tmp_path / "raw/a.jsonl", records)
    pq.write_table(pa.Table.from_pylist(records), tmp_path / "raw/b.parquet", row_group_size=7)
    listing = BlockListing(str(tmp_path / "raw"), 700)
    assert len(list(listing.blocks())) > 10
    exact(tmp_path / "raw", tmp_path / "out", input_blocksize=700).run(HERE)
    assert ids(records_in(tmp_path / "out")) == list(range(0, 300, 2))


def test_marks_have_cluster_id_and_size(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": t} for t in ("x", "y", "x", "x", "")])
    counts = exact(source, tmp_path / "out", keep="mark").run(HERE).metadata
    marks = [(r["cluster_size"], r["is_duplicate"]) for r in records_in(tmp_path / "out")]
    assert marks == [(3, False), (1, False), (3, True), (3, True), (1, False)]
    clusters = [record["cluster_id"] for record in records_in(tmp_path / "out")]
    digest = text_hashes([b"x"])[0].tobytes()
    assert clusters == [digest.hex(), None, digest.hex(), digest.hex(), None]
    assert (counts["groups"], counts["duplicates"], counts["removed"]) == (1, 2, 0)


def test_normalization_ignores_case_space_and_accent_forms(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    texts = ["Caf\u00e9  au lait", " cafe\u0301 AU\nlait ", "cafe au lait", "\t"]
    records = [{"id": place, "text": text} for place, text in enumerate(texts)]
    source = write(tmp_path / "a.jsonl", records)
    exact(source, tmp_path / "plain").run(HERE)
    exact(source, tmp_path / "out", normalize=True).run(HERE)
    assert ids(records_in(tmp_path / "plain")) == [0, 1, 2, 3]
    assert ids(records_in(tmp_path / "out")) == [0, 2, 3]
    assert records_in(tmp_path / "out")[0]["text"] == texts[0]


def test_columns_of_hashes_and_decisions(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x"}, {"text": None}, {"text": "x"}])
    exact(source, tmp_path / "out", partitions=1, work_path=str(tmp_path / "work")).run(HERE)
    [hashes] = (tmp_path / "work/hashes").glob("part-*")
    table = pq.read_table(hashes)
    assert table.column_names == ["hash", "block", "file", "row", "state"]
    assert table["row"].to_pylist() == [0, 14, 29]
    assert table["state"].to_pylist() == [0, 1, 0]
    assert set(table["file"].to_pylist()) == {str(source)}
    [decisions] = (tmp_path / "work/decisions").glob("part-*")
    rows = pq.read_table(decisions).to_pylist()
    assert [(r["row"], r["keep"], r["is_duplicate"], r["cluster_size"]) for r in rows] == [
        (0, True, False, 2),
        (29, False, True, 2),
    ]


def test_invalid_lines_are_quarantined_alone(tmp_path: Path, records_in: RecordsIn) -> None:
    deep = "[" * 500 + "]" * 500
    lines = ['{"text": 5, "id": 0}', '{"text": "5", "id": 1}', "{broken", "[1]",
             '{"text": {"a": [1]}, "id": 2}', '{"text": {"a": [1]}, "id": 3}',
             '{"id": 4}', '{"id": 5}', f'{{"text": "q", "id": 6, "more": {deep}}}',
             '{"text": "q", "id": 7}', f'{{"text": {deep}, "id": 8}}', "\ufffd"]  # fmt: skip
    (tmp_path / "a.jsonl").write_text("\n".join(lines + [f'{{"text": "{n}"}}' for n in range(99)]))
    result = exact(tmp_path / "a.jsonl", tmp_path / "out").run(HERE)
    assert len(result.runs["hash"].quarantined) == 4
    kept = [record.get("id") for record in records_in(tmp_path / "out")]
    assert [one for one in kept if one is not None] == [0, 2, 4, 5, 6]
    assert result.metadata["no_records"] == 4
    assert result.metadata["removed"] == 4  # 1 and 3, 7, and the text "5" among the numbers


def test_one_of_many_equal_files_is_kept(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    for place in range(30):
        write(tmp_path / f"raw/{place:02d}.jsonl", [{"id": place, "text": "same"}] * 10)
    counts = exact(tmp_path / "raw", tmp_path / "out").run(HERE).metadata
    assert records_in(tmp_path / "out") == [{"id": 0, "text": "same"}]
    assert (counts["groups"], counts["removed"]) == (1, 299)


def test_compressed_input_and_output(tmp_path: Path, write: Write) -> None:
    import gzip

    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "x"}\n' * 3))
    exact(tmp_path / "a.jsonl.gz", tmp_path / "out", compression="gz").run(HERE)
    [out] = (tmp_path / "out").glob("part-*.jsonl.gz")
    assert gzip.decompress(out.read_bytes()) == b'{"text": "x"}\n'


def test_unreadable_file_fails_the_run(tmp_path: Path, write: Write) -> None:
    write(tmp_path / "raw/a.jsonl", [{"text": "x"}])
    (tmp_path / "raw/b.parquet").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"b\.parquet: damaged Parquet"):
        exact(tmp_path / "raw", tmp_path / "out").run(HERE)
    assert not list((tmp_path / "out").glob("part-*"))


def test_unknown_fields_are_named(tmp_path: Path, write: Write) -> None:
    lines = write(tmp_path / "a.jsonl", [{"text": "x", "score": "high"}])
    table = write(tmp_path / "a.parquet", [{"text": "x", "n": [1]}])
    for source, options, message in (
        (lines, {"text_field": "txt"}, r"no such field.*did you mean text"),
        (table, {"text_field": "txt"}, r"no such field.*did you mean text"),
        (lines, {"priority_field": "scor"}, r"no such field.*did you mean score"),
    ):
        with pytest.raises(PipelineError, match=message):
            exact(source, tmp_path / "out", **options).run(HERE)
    with pytest.raises(BudgetError, match="priority that is not a number: 'high'"):
        exact(lines, tmp_path / "out1", priority_field="score").run(HERE)
    with pytest.raises(BudgetError, match="cannot become text"):
        exact(table, tmp_path / "out2", text_field="n").run(HERE)


def test_existing_columns_are_not_replaced(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x", "cluster_size": 3}])
    with pytest.raises(PipelineError, match="has a field 'cluster_size' already"):
        exact(source, tmp_path / "out", keep="mark").run(HERE)


def test_all_invalid_options_are_reported(tmp_path: Path) -> None:
    workflow = exact(
        tmp_path / "nowhere", tmp_path / "out", keep="on", output_format="json", mode="replace",
        compression="gzip", partitions=0, text_field="", input_blocksize="huge",
    )  # fmt: skip
    with pytest.raises(PipelineError) as caught:
        workflow.run(HERE)
    message = str(caught.value)
    assert "exact_deduplication: keep is 'on' (did you mean one?)" in message
    assert "output_format is 'json' (did you mean jsonl?)" in message
    assert "mode is 'replace'" in message
    assert "compression is 'gzip' (did you mean gz?)" in message
    assert "partitions is 0, but must be from 1 to 4096" in message
    assert "text_field is empty" in message
    assert "input_blocksize is 'huge', but must be a size" in message
    with pytest.raises(PipelineError, match=r"no files match .*nowhere"):
        exact(tmp_path / "nowhere", tmp_path / "out").run(HERE)


def test_changed_input_updates_the_output(
    tmp_path: Path, write: Write, records_in: RecordsIn
) -> None:
    write(tmp_path / "raw/b.jsonl", [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}])
    workflow = exact(tmp_path / "raw", tmp_path / "out")
    workflow.run(HERE)
    assert workflow.run(HERE).did_nothing
    write(tmp_path / "raw/a.jsonl", [{"id": 0, "text": "x"}])
    counts = workflow.run(HERE).metadata
    assert ids(records_in(tmp_path / "out")) == [0, 2]
    assert counts["documents"] == 3
    (tmp_path / "raw/a.jsonl").unlink()
    counts = workflow.run(HERE, removed_inputs="prune").metadata
    assert ids(records_in(tmp_path / "out")) == [1, 2]
    assert counts == {"documents": 2, "empty": 0, "no_records": 0, "groups": 0, "duplicates": 0,
                    "removed": 0, "kept": 2}  # fmt: skip


def test_changed_options_are_refused_on_resume(tmp_path: Path, write: Write) -> None:
    source = write(tmp_path / "a.jsonl", [{"text": "x"}])
    exact(source, tmp_path / "out").run(HERE)
    with pytest.raises(ResumeError, match="normalize"):
        exact(source, tmp_path / "out", normalize=True).run(HERE)


def test_workflow_is_registered() -> None:
    found = plugins().workflows.load("dedup.exact")
    assert found is ExactDeduplicationWorkflow


def test_killed_run_resumes_with_the_same_result(
    tmp_path: Path, write: Write, records_in: RecordsIn, killed_at: KilledAt
) -> None:
    source = corpus(tmp_path / "raw", write, files=8, rows=200)
    exact(source, tmp_path / "whole").run(HERE)
    workflow = exact(source, tmp_path / "out", input_blocksize=4000)
    assert killed_at(workflow, ("hashes/part-*", "decisions/part-*", ".curator/*/remove/*")) > 1
    workflow.run(HERE)
    assert ids(records_in(tmp_path / "out")) == ids(records_in(tmp_path / "whole"))
    assert not list(tmp_path.rglob("*.staged"))


def test_digests_are_stable_and_have_128_bits() -> None:
    assert [row.tobytes().hex() for row in text_hashes([b"", b"abc"])] == [
        "99aa06d3014798d86001c324468d497f",
        "06b05ab6733a618578af5f94892f3950",
    ]
    hashes = text_hashes(b"%d" % n for n in range(1000))
    assert len(np.unique(hashes, axis=0)) == 1000


def test_marked_lines_keep_their_other_fields(tmp_path: Path) -> None:
    """Ids of several types, large numbers, fields of some records only, empty records."""
    lines = [
        '{"id": 1, "text": "a", "y": {"cluster_id": 2}}',
        '{"id": "x", "text": "a", "size": 123456789012345678901234567890 }\r',
        "{ }",
        '{"id": null, "text": "b", "z": "\\"cluster_id\\""}',
    ]
    source = tmp_path / "a.jsonl"
    source.write_text("\n".join(lines), newline="")
    ExactDeduplicationWorkflow(str(source), str(tmp_path / "out"), keep="mark").run(HERE)
    [written] = (tmp_path / "out").glob("part-*")
    marked = written.read_text().splitlines()
    assert [line.split('"cluster_id":')[-1].partition(",")[2] for line in marked] == [
        '"cluster_size":2,"is_duplicate":false}', '"cluster_size":2,"is_duplicate":true}',
        '"cluster_size":1,"is_duplicate":false}', '"cluster_size":1,"is_duplicate":false}',
    ]  # fmt: skip
    for line, mark in zip(lines, marked, strict=True):
        assert mark.startswith(line.rstrip()[:-1].rstrip())
        assert json.loads(line).items() <= json.loads(mark).items()
