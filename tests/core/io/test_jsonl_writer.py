import bz2
import gzip
import json
import lzma
import os
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from curator_core.errors import OutputError
from curator_core.io.atomic_write import publish
from curator_core.io.filesystems import open_filesystem
from curator_core.io.readers.jsonl import JsonlReading
from curator_core.io.writers import JsonlWriter
from curator_core.io.writers.jsonl import json_lines
from curator_core.model.arrow import json_field
from curator_core.model.documents import DocumentBatch
from curator_core.model.files import FileGroup
from curator_core.model.resources import WorkerInfo
from curator_core.plan.plan import stage_options
from curator_core.testing import check_stage
from hypothesis import given, settings
from hypothesis import strategies as st


def batch(*records: dict[str, Any], task_id: str = "t.0") -> DocumentBatch:
    made = DocumentBatch.from_pylist(records)
    made.task_id = task_id
    return made


def published(written: FileGroup) -> Path:
    [staged] = written.staged
    fs, _ = open_filesystem(staged.final)
    publish(fs, staged)
    return Path(staged.final)


def encoded(table: pa.Table) -> list[dict[str, Any]]:
    return [json.loads(line) for line in b"".join(json_lines(table)).splitlines()]


def test_each_batch_becomes_a_file(tmp_path: Path):
    writer = JsonlWriter(str(tmp_path / "out"))
    writer.setup(WorkerInfo(run_token="run1"))
    written = writer.process(batch({"text": "ä\n"}, {"text": None}, task_id="abc.1"))
    final = f"{tmp_path}/out/part-abc.1.jsonl"
    [staged] = written.staged
    assert staged.staged.startswith(f"{tmp_path}/out/.part-abc.1.jsonl.run1.")
    assert (written.paths, staged.final, staged.items) == ([final], final, 2)
    assert published(written).read_bytes() == '{"text":"ä\\n"}\n{"text":null}\n'.encode()
    assert staged.size == os.path.getsize(final)


def test_the_same_batch_makes_the_same_file(tmp_path: Path):
    for compression in (None, "gz", "zst"):
        writers = [
            JsonlWriter(str(tmp_path / place), compression=compression) for place in ("a", "b")
        ]
        one, two = (published(writer.process(batch({"text": "x" * 1000}))) for writer in writers)
        assert one.read_bytes() == two.read_bytes()
        assert one.name == two.name


@pytest.mark.parametrize(
    ("compression", "ending", "opened"),
    [("gz", "jsonl.gz", gzip.open), ("bz2", "jsonl.bz2", bz2.open), ("xz", "jsonl.xz", lzma.open)],
)
def test_compressed(tmp_path: Path, compression: str, ending: str, opened: Any):
    writer = JsonlWriter(str(tmp_path), compression=compression)
    final = published(writer.process(batch({"text": "one"})))
    assert final.name == f"part-t.0.{ending}"
    with opened(final) as file:
        assert file.read() == b'{"text":"one"}\n'


def test_only_some_fields(tmp_path: Path):
    writer = JsonlWriter(str(tmp_path), fields=["b", "a"])
    assert writer.inputs() == ["b", "a"]
    final = published(writer.process(batch({"a": 1, "b": 2, "c": 3})))
    assert final.read_bytes() == b'{"b":2,"a":1}\n'


def test_an_object_store_gets_one_whole_file():
    written = JsonlWriter("memory://jsonl-writing/out").process(batch({"text": "one"}))
    [staged] = written.staged
    assert staged.staged == staged.final == "memory:///jsonl-writing/out/part-t.0.jsonl"
    fs, path = open_filesystem(staged.final)
    assert fs.cat_file(path) == b'{"text":"one"}\n'


def test_a_place_that_cannot_be_written_to(tmp_path: Path):
    (tmp_path / "out").touch()
    with pytest.raises(OutputError, match=r"cannot write .*/out/part-t\.0\.jsonl: a part of the"):
        JsonlWriter(str(tmp_path / "out")).process(batch({"text": "one"}))


def test_problems_are_reported_before_the_run(tmp_path: Path):
    (tmp_path / "file").touch()
    writer = JsonlWriter(
        str(tmp_path / "file"),
        mode="replace",  # type: ignore[arg-type]
        compression="gzip",
        dropped_path=f"{tmp_path}/file/",
    )
    assert list(writer.check()) == [
        "mode is 'replace' (known: append, error, overwrite)",
        "compression is 'gzip' (did you mean gz?)",
        f"dropped_path and path are both {tmp_path}/file; give dropped records another folder",
        f"cannot write to {tmp_path}/file: it is a file, not a folder; choose another folder",
        f"cannot write to {tmp_path}/file/: it is a file, not a folder; choose another folder",
    ]
    [unknown] = JsonlWriter("nowhere://bucket").check()
    assert unknown == "cannot open nowhere://bucket: Protocol not known: nowhere"
    [refused] = JsonlWriter("ftp://127.0.0.1:9/out").check()
    message = "cannot write to ftp://127.0.0.1:9/out: ConnectionRefusedError: "
    assert refused.startswith(message)
    assert list(JsonlWriter("").check()) == ["path is empty; name the folder to write to"]


def test_a_folder_that_may_not_be_written_to(tmp_path: Path):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        [problem] = JsonlWriter(str(closed / "out")).check()
    finally:
        if is_root:
            os.seteuid(0)
    assert problem.startswith(f"cannot write to {closed}/out: permission denied in ")


def test_credentials_are_shown_nowhere(tmp_path: Path):
    writer = JsonlWriter(str(tmp_path), storage_options={"secret": "hunter2"})
    assert "hunter2" not in repr(writer)
    assert "storage_options" not in stage_options(writer)


def test_values_of_every_type():
    moment = datetime(2024, 5, 6, 7, 8, 9, 10, UTC)
    table = pa.table(
        {
            "time": pa.array([moment, None]),
            "nanos": pa.array([1, None], pa.timestamp("ns")),
            "day": pa.array([date(2024, 5, 6), None]),
            "inner": pa.array([{"at": 1}, None], pa.struct({"at": pa.timestamp("ns")})),
            "times": pa.array([[1], None], pa.list_(pa.timestamp("ns"))),
            "span": pa.array([timedelta(seconds=1.5), None]),
            "price": pa.array([Decimal("1.20"), None]),
            "raw": pa.array([b"\xff\x00", None]),
            "float": pa.array([float("nan"), float("inf")]),
            "category": pa.array(["a", None]).dictionary_encode(),
            "map": pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int64())),
        }
    )
    first, second = encoded(table)
    assert first == {
        "time": "2024-05-06T07:08:09.000010Z",
        "nanos": "1970-01-01T00:00:00.000000001",
        "day": "2024-05-06",
        "inner": {"at": "1970-01-01T00:00:00"},
        "times": ["1970-01-01T00:00:00"],
        "span": 1.5,
        "price": "1.20",
        "raw": "/wA=",
        "float": None,
        "category": "a",
        "map": [["a", 1]],
    }
    assert set(second.values()) == {None}


def test_json_columns_are_written_as_json():
    texts = ['{"b": [1]}', None, "7"]
    table = pa.table([pa.array(texts)], schema=pa.schema([json_field("a")]))
    assert encoded(table) == [{"a": {"b": [1]}}, {"a": None}, {"a": 7}]


def test_text_in_a_json_column_that_is_not_json_is_written_as_text():
    texts = ["{torn", '{"b":\n1}', "1,2", "", None]
    table = pa.table([pa.array(texts)], schema=pa.schema([json_field("a")]))
    assert encoded(table) == [
        {"a": "{torn"},
        {"a": {"b": 1}},
        {"a": "1,2"},
        {"a": ""},
        {"a": None},
    ]


def test_records_without_columns():
    assert encoded(pa.table({"x": [1, 2]}).select([])) == [{}, {}]


scalars = {
    "text": st.text(st.characters(exclude_categories=["Cs"])),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False, allow_infinity=False),
    "bool": st.booleans(),
}
nested = st.recursive(
    st.one_of(st.none(), *scalars.values()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text("ab"), inner)),
    max_leaves=8,
)
columns = st.one_of(
    *(st.just(values) for values in scalars.values()),
    *(st.just(st.lists(st.none() | values, max_size=3)) for values in scalars.values()),
    st.just(st.lists(nested, max_size=3)),
    st.just(st.dictionaries(st.text("ab"), nested, max_size=3)),
    st.just(st.one_of(st.integers(), st.booleans())),
)


@st.composite
def corpora(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Records whose columns each have one type, with some values missing."""
    names = draw(st.lists(st.text("abc", max_size=2), unique=True, max_size=4))
    kinds = [draw(columns) for _ in names]
    record = st.tuples(*(st.none() | kind for kind in kinds))
    records = draw(st.lists(record, min_size=1, max_size=6))
    return [dict(zip(names, values, strict=True)) for values in records]


@settings(max_examples=200, deadline=None)
@given(corpora())
def test_reading_and_writing_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]]
):
    folder = tmp_path_factory.mktemp("round")
    lines = [json.dumps(record) for record in records]
    (folder / "a.jsonl").write_text("\n".join(lines))
    [got] = JsonlReading(text_field=None).process(FileGroup.of([str(folder / "a.jsonl")]))
    assert isinstance(got, DocumentBatch)
    back = [orjson.loads(line) for line in b"".join(json_lines(got.data)).splitlines()]
    assert back == [orjson.loads(line) for line in lines]
    assert [list(record) for record in back] == [list(record) for record in records]


def test_it_passes_check_stage(tmp_path: Path):
    check_stage(JsonlWriter(str(tmp_path / "out")), batch({"text": "one"}))


@pytest.mark.parametrize(
    "text",
    ["18446744073709551617", "[36893488147419103233, 1]", '{"a": -18446744073709551617, "b": "é"}'],
)
def test_integers_of_any_size_are_written_as_they_are(text: str):
    table = pa.table([pa.array([text, "1", None])], schema=pa.schema([json_field("n")]))
    lines = b"".join(json_lines(table)).splitlines()
    assert [json.loads(line)["n"] for line in lines] == [json.loads(text), 1, None]


def test_long_digits_outside_json_stay_text():
    text = "[NaN, 18446744073709551617]"
    table = pa.table([pa.array([text])], schema=pa.schema([json_field("n")]))
    assert json.loads(b"".join(json_lines(table))) == {"n": text}
