import gzip
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from curator_core.errors import InputError, PipelineError
from curator_core.io.readers import JsonlReader, lines
from curator_core.io.readers.json_records import parse_lines
from curator_core.io.readers.jsonl import JsonlReading
from curator_core.io.readers.lines import lines_in_range, whole_lines
from curator_core.io.readers.tables import to_columns, to_table
from curator_core.model.arrow import is_json
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup, FilePart
from curator_core.model.tasks import Empty, Rejected
from curator_core.pipeline import Pipeline
from curator_core.testing import check_stage
from hypothesis import given, settings
from hypothesis import strategies as st


def write(path: Path, content: bytes | list[Any]) -> str:
    data = content if isinstance(content, bytes) else b"\n".join(map(orjson.dumps, content))
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def read(*parts: str | FilePart, **options: Any) -> tuple[list[DocumentBatch], list[Rejected]]:
    group = FileGroup([FilePart(p) if isinstance(p, str) else p for p in parts])
    group.task_id = "t"
    outcomes = list(JsonlReading(**options).process(group))
    batches = [one for one in outcomes if isinstance(one, DocumentBatch)]
    return batches, [one for one in outcomes if isinstance(one, Rejected)]


def table(*records: dict[str, Any], text_field: str | None = None) -> pa.Table:
    return to_table([to_columns(records, text_field=text_field)])


def types(of: pa.Table) -> dict[str, str]:
    return {f.name: "json" if is_json(f) else str(f.type) for f in of.schema}


# Lines


def lines_in(data: bytes, start: int, end: int | None) -> bytes:
    return b"".join(piece.data for piece in lines_in_range(io.BytesIO(data), start, end))


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([b"", b"a", b"bcd", b"\r", b"0123456789"])),
    st.booleans(),
    st.lists(st.integers(0, 60)),
    st.integers(1, 9),
)
def test_every_line_is_in_exactly_one_range(
    texts: list[bytes], ends: bool, cuts: list[int], piece_bytes: int
):
    data = b"\n".join(texts) + (b"\n" if ends else b"")
    edges: list[int | None] = [0, *sorted({c for c in cuts if 0 < c < len(data)}), None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", piece_bytes)
        position = 0
        for start, end in pairwise(edges):
            got = lines_in(data, start or 0, end)
            assert not got or (start or 0) <= position < (end or len(data))
            assert data[position:].startswith(got)
            position += len(got)
        assert position == len(data)


@given(st.lists(st.binary(max_size=6)))
def test_chunks_become_whole_lines_with_their_places(chunks: list[bytes]):
    data = b"".join(chunks)
    pieces = list(whole_lines(chunks))
    assert b"".join(piece.data for piece in pieces) == data
    assert all(data[p.offset :].startswith(p.data) for p in pieces)
    assert all(p.data.endswith(b"\n") for p in pieces[:-1])


def test_a_line_that_is_too_long_is_skipped_and_its_neighbours_are_kept(monkeypatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10)
    chunks = [b"{}\n", b"x" * 6, b"x" * 6, b"x" * 6, b'x\n{"a":1}\n{"b"', b":2}\n"]
    got = [(piece.data, piece.offset, piece.too_long) for piece in whole_lines(chunks)]
    assert got == [
        (b"{}\n", 0, False),
        (b"xxxxxx", 3, True),
        (b'{"a":1}\n', 23, False),
        (b'{"b":2}\n', 31, False),
    ]
    assert [piece.too_long for piece in whole_lines([b"x" * 30])] == [True]


def test_a_line_of_many_megabytes_is_read(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"text": "x" * 40_000_000}, {"text": "y"}])
    batches, rejected = read(path)
    assert [len(text) for batch in batches for text in batch.data["text"].to_pylist()] == [
        40_000_000,
        1,
    ]
    assert rejected == []


# Records


GOOD = b'{"a":1}'


@given(
    st.lists(st.sampled_from([GOOD, b"", b" \r", b"{", b"[1]", b"\xff", b'{"a":[1', b"2]}", b"7"]))
)
def test_good_lines_are_kept_and_bad_ones_have_their_place(texts: list[bytes]):
    data = b"\n".join(texts)
    parsed = parse_lines(lines.Lines(data, 100))
    assert len(parsed.records) == texts.count(GOOD)
    expected = [i for i, text in enumerate(texts) if text.strip() and text != GOOD]
    assert [bad.number for bad in parsed.bad] == expected
    for bad in parsed.bad:
        assert data[bad.offset - 100 :].startswith(bad.text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a":', "not JSON: unexpected end of data"),
        (b"[1]", "not a JSON object, but a list"),
        (b"12", "not a JSON object, but a number"),
        (b'{"a":"\xff"}', "not UTF-8: 0xff"),
        (b'{"a":1},{"b":2}', "not JSON: "),
        (b'{"a":NaN}', "not JSON: "),
    ],
)
def test_the_reason_for_an_invalid_line(text: bytes, reason: str):
    [bad] = parse_lines(lines.Lines(GOOD + b"\n" + text + b"\n" + GOOD)).bad
    assert bad.reason.startswith(reason)
    assert (bad.number, bad.offset, bad.text) == (1, 8, text)


def test_json_spread_over_lines_is_bad():
    parsed = parse_lines(lines.Lines(b'{"a":1},{"b":2}\n{"a":[1\n2]}\n'))
    assert parsed.records == []
    assert len(parsed.bad) == 3


def test_windows_line_ends_and_a_byte_order_mark():
    parsed = parse_lines(lines.Lines(b'\xef\xbb\xbf{"a":1}\r\n\r\n{"a":2}\r\n'))
    assert parsed.records == [{"a": 1}, {"a": 2}]
    assert parsed.bad == []


# Columns


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        (["2024-01-01", "12"], "string", None),
        ([1, None], "int64", None),
        ([1, 2.5], "double", None),
        ([True, None], "bool", None),
        ([None, None], "string", None),
        (["a", 1, {"b": 2}, None], "string", ["a", "1", '{"b":2}', None]),
        ([True, 1], "json", ["true", "1"]),
        ([2**63, -1], "json", [str(2**63), "-1"]),
        ([0.5, 2**60 + 1], "json", ["0.5", str(2**60 + 1)]),
        ([{"b": [1]}, None], "json", ['{"b":[1]}', None]),
        ([["a"], [], None, [None]], "list<item: string>", None),
        ([[1], [2.5]], "list<item: double>", None),
        ([["a", 1]], "json", ['["a",1]']),
        ([[["a"]]], "json", ['[["a"]]']),
    ],
)
def test_the_type_follows_from_the_values(values: list[Any], kind: str, kept: list[Any] | None):
    together = table(*({"x": value} for value in values))
    assert types(together) == {"x": kind}
    assert together["x"].to_pylist() == (values if kept is None else kept)
    piecewise = to_table([to_columns([{"x": value}]) for value in values])
    assert types(piecewise) == {"x": kind}
    assert piecewise["x"].to_pylist() == together["x"].to_pylist()


def test_a_missing_key_is_null_and_columns_come_in_the_order_of_the_keys():
    got = table({"b": 1}, {"a": "x", "b": 2})
    assert got.column_names == ["b", "a"]
    assert got.to_pylist() == [{"b": 1, "a": None}, {"b": 2, "a": "x"}]


def test_the_text_is_always_text():
    assert types(table({"text": 1, "n": 1}, text_field="text")) == {"text": "string", "n": "int64"}


def test_records_without_any_key_are_still_records():
    assert table({}, {}).num_rows == 2


# Files


def test_reading_a_file(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"text": "one"}, {"text": "two"}])
    [batch], rejected = read(path)
    assert batch.to_pylist() == [{"text": "one"}, {"text": "two"}]
    assert batch.metadata == {"source_files": [path]}
    assert rejected == []


def test_small_files_of_a_group_share_a_batch(tmp_path: Path):
    one = write(tmp_path / "a.jsonl", [{"text": "one"}])
    two = write(tmp_path / "b.jsonl", [{"text": "two", "n": 1}])
    [batch], _ = read(one, two)
    assert batch.to_pylist() == [{"text": "one", "n": None}, {"text": "two", "n": 1}]
    assert batch.metadata == {"source_files": [one, two]}


def test_a_large_file_becomes_several_batches(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"text": "x" * 1_000_000} for _ in range(80)])
    batches, _ = read(path)
    assert [batch.num_items for batch in batches] == [34, 34, 12]


def test_bad_lines_are_reported_with_file_and_line(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b'{"a":1}\n\nnonsense\n{"a":2}\n[]\n')
    [batch], rejected = read(path)
    assert batch.to_pylist() == [{"a": 1}, {"a": 2}]
    assert [(one.where, one.payload) for one in rejected] == [
        (f"{path} line 3 column 1", b"nonsense"),
        (f"{path} line 5", b"[]"),
    ]


def test_bad_lines_of_a_range_are_reported_with_their_byte(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b'{"a":1}\n{"a":2}\nnonsense\n')
    [batch], [rejected] = read(FilePart(path, start=3, end=None))
    assert batch.to_pylist() == [{"a": 2}]
    assert rejected.where == f"{path} byte 16 column 1"


def test_a_truncated_file_yields_its_content(tmp_path: Path):
    records = [{"id": i, "text": f"{i * 7919 % 65537:x} " * 20} for i in range(5000)]
    path = write(tmp_path / "a.jsonl.gz", records)
    Path(path).write_bytes(Path(path).read_bytes()[:-1000])
    batches, rejected = read(path)
    got = [record for batch in batches for record in batch.to_pylist()]
    assert got == records[: len(got)]
    assert len(got) > 3000
    torn, damage = rejected
    assert torn.where.startswith(f"{path} line {len(got) + 1} column ")
    assert damage.reason == "the compressed stream ends too early; what follows is lost"
    assert damage.where.startswith(f"{path} byte ")


def test_a_whole_last_record_of_a_truncated_file_is_kept(tmp_path: Path):
    path = write(tmp_path / "a.jsonl.gz", [{"id": 1}])
    Path(path).write_bytes(Path(path).read_bytes()[:-4])
    [batch], [damage] = read(path)
    assert batch.to_pylist() == [{"id": 1}]
    assert damage.reason == "the compressed stream ends too early; what follows is lost"


def test_a_file_of_which_nothing_can_be_read(tmp_path: Path):
    path = str(tmp_path / "a.jsonl.gz")
    Path(path).write_bytes(b"this is no gzip")
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(
        f"cannot read {path}: the compressed stream is damaged: Error -"
    )


def test_a_bad_file_does_not_hide_its_neighbours(tmp_path: Path):
    one = write(tmp_path / "a.jsonl", [{"text": "one"}])
    missing = str(tmp_path / "missing.jsonl")
    two = write(tmp_path / "z.jsonl", [{"text": "two"}])
    [batch], [rejected] = read(one, missing, two)
    assert batch.to_pylist() == [{"text": "one"}, {"text": "two"}]
    assert rejected.reason == f"cannot read {missing}: it does not exist (any more)"
    assert rejected.where == missing


def test_a_file_that_does_not_exist(tmp_path: Path):
    with pytest.raises(InputError, match=r"cannot read .*missing\.jsonl: it does not exist"):
        read(str(tmp_path / "missing.jsonl"))


# Options


def test_only_some_fields(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"a": 1, "b": 2, "c": 3}, {"a": 4}])
    [batch], _ = read(path, fields=["c", "a"])
    assert batch.to_pylist() == [{"c": 3, "a": 1}, {"c": None, "a": 4}]


def test_ids_are_derived_from_the_task_and_continue(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"text": "x" * 20_000_000} for _ in range(3)])
    batches, _ = read(path, add_id=True)
    assert len(batches) == 3
    assert [batch.data["id"].to_pylist() for batch in batches] == [["t-0"], ["t-1"], ["t-2"]]
    [named, *_], _ = read(path, add_id="doc")
    assert named.data.column_names == ["doc", "text"]


def test_ids_replace_nothing(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"id": 7}])
    with pytest.raises(InputError, match="add_id would replace the field 'id'"):
        read(path, add_id=True)


def parts_of(reader: JsonlReader) -> tuple[Any, Any]:
    listing, reading = reader.decompose()
    return listing, reading


def test_a_reader_lists_and_reads(tmp_path: Path):
    write(tmp_path / "b.jsonl.gz", [{"text": "two"}])
    write(tmp_path / "a.jsonl", [{"text": "one"}])
    write(tmp_path / "notes.txt", b"no JSON")
    listing, reading = parts_of(JsonlReader(str(tmp_path), files_per_partition=50))
    assert (listing.name, reading.name) == ("jsonl_reader_files", "jsonl_reader")
    [group] = listing.process(Empty())
    [batch] = reading.process(group)
    assert batch.data["text"].to_pylist() == ["one", "two"]


def test_columns_are_known_before_anything_runs(tmp_path: Path):
    write(tmp_path / "a.jsonl", b"")
    write(tmp_path / "b.jsonl.gz", [{"text": "one"}, {"url": "two"}])
    _, reading = parts_of(JsonlReader(str(tmp_path), add_id=True))
    assert reading.columns_after(None) == {"text", "url", "id"}
    _, chosen = parts_of(JsonlReader(str(tmp_path), fields=["url"]))
    assert chosen.columns_after(None) == {"url"}
    assert JsonlReading().columns_after(frozenset()) is None


def test_wrong_names_are_reported_before_the_run(tmp_path: Path):
    write(tmp_path / "a.jsonl", [{"text": "one", "id": 1, "content": "x"}])
    wrong = JsonlReader(str(tmp_path), fields=["txt", "id"], text_field="contents", add_id=True)
    _, reading = parts_of(wrong)
    assert list(reading.check()) == [
        "a.jsonl has no field 'txt' (did you mean text?)",
        "text_field is 'contents', but a.jsonl has no such field (did you mean content?)",
        "add_id would replace the field 'id' that a.jsonl has; "
        "name another column, as in add_id='curator_id'",
    ]


def test_a_pipeline_says_which_reader_finds_no_file(tmp_path: Path):
    pipeline = Pipeline(stages=[JsonlReader(str(tmp_path / "none"))])
    with pytest.raises(Exception, match=r"stage 1 'jsonl_reader_files': no files match .*/none"):
        pipeline.build()


def test_the_reading_stage_passes_check_stage(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"text": "one"}])
    group = FileGroup([FilePart(path)])
    check_stage(JsonlReading(), group)


@settings(deadline=None)
@given(st.integers(1, 40), st.lists(st.text(max_size=5), max_size=8))
def test_ranges_of_a_file_give_each_record_once(
    tmp_path_factory: pytest.TempPathFactory, blocksize: int, texts: list[str]
):
    folder = tmp_path_factory.mktemp("ranges")
    records = [{"text": text} for text in texts]
    (folder / "a.jsonl").write_text("\n".join(json.dumps(r) for r in records))
    listing, reading = parts_of(JsonlReader(str(folder), blocksize=blocksize))
    got = [
        record
        for group in listing.process(Empty())
        for batch in reading.process(group)
        for record in batch.to_pylist()
    ]
    assert got == records


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            gzip.compress(b'{"a":1}\n', mtime=0),
            "it is gzip data; give the file a name that ends in .gz",
        ),
        ('{"a":1}\n'.encode("utf-16"), "it is UTF-16; convert it to UTF-8"),
        (b"PAR1\x15\x04", "it is a Parquet file; read it with a Parquet reader"),
        (
            b'[\n {"a":1},\n {"a":2}\n]\n',
            "it is one JSON list, not JSON Lines; make a line",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused_whole(tmp_path: Path, content: bytes, message: str):
    path = write(tmp_path / "a.jsonl", content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"cannot read {path}: {message}")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": NaN}', "not JSON: NaN is not a JSON number; write null instead"),
        (b'{"a": [1, -Infinity]}', "not JSON: -Infinity is not a JSON number; write null instead"),
        (b'{"a": "NaN", }', "not JSON: "),
        (b'{"a": "tor', "not JSON: unexpected end of data"),
        (b'{"a": "caf\xe9"}', "not UTF-8: 0xe9"),
    ],
)
def test_the_reason_describes_the_invalid_line(tmp_path: Path, line: bytes, reason: str):
    path = write(tmp_path / "a.jsonl", b'{"a":1}\n' + line + b"\n")
    _, [rejected] = read(path)
    assert rejected.reason.startswith(reason)
    assert rejected.where.startswith(f"{path} line 2 column ")


def test_a_deeply_nested_record_only_rejects_itself(tmp_path: Path):
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    path = write(tmp_path / "a.jsonl", b'{"b":{"c":1}}\n' + deep + b'\nnonsense\n{"b":2}\n')
    [batch], rejected = read(path)
    assert batch.data.column("b").to_pylist() == ['{"c":1}', "2"]
    assert [one.where for one in rejected] == [f"{path} line 2", f"{path} line 3 column 1"]
    assert rejected[0].reason == "nested too deeply: more than 250 levels"


# Texts that are none, large integers, other formats


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("12345", "a number"),
        ("true", "a truth value"),
        ('["a"]', "a list"),
        ('{"a":1}', "an object"),
    ],
)
def test_a_value_that_is_not_text_only_rejects_its_record(tmp_path: Path, value: str, kind: str):
    lines = ['{"text":"one"}', "", f'{{"text":{value}}}', '{"text":null}', '{"id":1}']
    path = write(tmp_path / "a.jsonl", "\n".join(lines).encode())
    [batch], [rejected] = read(path)
    assert batch.data["text"].to_pylist() == ["one", None, None]
    assert kind in rejected.reason
    assert "'text'" in rejected.reason
    assert (rejected.where, rejected.payload) == (f"{path} line 3", lines[2].encode())


def test_lines_after_a_rejected_one_are_counted_correctly(tmp_path: Path):
    records = [{"text": "x" * 1000} for _ in range(1200)]  # several pieces
    records[0] = records[-1] = {"text": 1}  # type: ignore[dict-item]
    path = write(tmp_path / "a.jsonl", records)
    _, rejected = read(path)
    assert [one.where for one in rejected] == [f"{path} line 1", f"{path} line 1200"]


def test_other_columns_than_the_text_may_hold_anything(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", [{"text": 1, "body": "x"}])
    for options in ({"text_field": "body"}, {"text_field": None}, {"fields": ["body"]}):
        [batch], rejected = read(path, **options)
        assert (batch.num_items, rejected) == (1, [])


def test_a_byte_order_mark_does_not_hide_a_record_parsed_alone(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text":"one"}\n{"text":2}\n')
    [batch], [_] = read(path)
    assert batch.to_pylist() == [{"text": "one"}]


@pytest.mark.parametrize(
    "value",
    [2**64, -(2**64), 2**200, 2**64 + 1, [2**64 + 1, 1], {"a": [2**64 + 1, 1.5, "é"]}],
    ids=str,
)
def test_integers_of_any_size_are_kept(tmp_path: Path, value: Any):
    record = json.dumps({"text": "x", "n": value})
    path = write(tmp_path / "a.jsonl", f'{record}\n{{"text":"y","n":1.5}}\n{{"n":7}}'.encode())
    [batch], rejected = read(path)
    assert [json.loads(one) for one in batch.data["n"].to_pylist()] == [value, 1.5, 7]
    assert rejected == []


def test_large_fractions_stay_fractions(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b'{"n":1e30,"s":"12345678901234567890123"}\n{"n":1.5}')
    [batch], _ = read(path, text_field=None)
    assert batch.data["n"].to_pylist() == [1e30, 1.5]


@pytest.mark.parametrize(
    ("content", "reader"),
    [
        (b"id,text\n1,one\n", "text.csv_reader"),
        (b'\xef\xbb\xbf"id";"the text"\r\n1;"one"\r\n', "text.csv_reader"),
        (b"id\ttext\n1\tone\n", "text.tsv_reader"),
    ],
)
def test_csv_files_name_their_reader(tmp_path: Path, content: bytes, reader: str):
    path = write(tmp_path / "a.jsonl", content)
    with pytest.raises(InputError) as caught:
        read(path)
    assert path in str(caught.value)
    assert reader in str(caught.value)


def test_a_line_of_text_before_the_records_is_a_bad_line(tmp_path: Path):
    path = write(tmp_path / "a.jsonl", b'Loading, please wait\n{"text":"one"}\n')
    [batch], [rejected] = read(path)
    assert batch.to_pylist() == [{"text": "one"}]
    assert rejected.where.startswith(f"{path} line 1")


def test_a_folder_of_csv_files_names_their_reader(tmp_path: Path):
    (tmp_path / "a.csv.gz").write_bytes(b"")
    (tmp_path / "a.csv").write_bytes(b"id,text\n")
    with pytest.raises(PipelineError, match=r"text\.csv_reader"):
        Pipeline("p", stages=[JsonlReader(str(tmp_path))]).build()
