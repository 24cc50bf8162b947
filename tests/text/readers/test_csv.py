from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from curator_core import Empty
from curator_core.errors import StageError
from curator_core.model.files import FilePart
from curator_core.testing import StageRun, check_stage, run_stages
from curator_text import CsvReader, TsvReader
from curator_text.readers.csv import CsvReading, Dialect
from hypothesis import given
from hypothesis import strategies as st


def read(reader: CsvReader) -> StageRun:
    return run_stages([reader], [Empty()], on_error="quarantine")


def rows(run: StageRun) -> list[dict[str, Any]]:
    return [row for task in run.outputs for row in task.data.to_pylist()]


def test_quoted_values_may_contain_delimiters_and_line_breaks(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfid,text\r\n1,"a, ""b""\nc"\r\n\r\n2,d\x0ce\r\n')
    assert rows(read(CsvReader(str(tmp_path)))) == [
        {"id": "1", "text": 'a, "b"\nc'},
        {"id": "2", "text": "d\x0ce"},
    ]
    check_stage(CsvReader(str(tmp_path)), Empty())


def test_bad_rows_are_quarantined_with_their_line_number(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n1,a\n2\n3,\xff\n4,b\n")
    run = read(CsvReader(str(path)))
    assert [row["id"] for row in rows(run)] == ["1", "4"]
    assert [(bad.reason, bad.where) for bad in run.report.quarantined] == [
        ("1 values, but 2 columns", f"{path} line 3"),
        ("not UTF-8", f"{path} line 4"),
    ]


def test_long_values_and_given_column_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"1;{'x' * 500_000}\n2;y\n")
    reader = CsvReader(str(tmp_path), delimiter=";", columns=["id", "text"], fields=["text"])
    assert [len(row["text"]) for row in rows(read(reader))] == [500_000, 1]


def test_unclosed_quotation_mark_terminates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,text\n1,"a\n' + "2,b\n" * 1000)
    run = read(CsvReader(str(tmp_path)))
    assert len(rows(run)) + len(run.report.quarantined) == 1


TABLE = "id\ttext\n" + "".join(f'{n}\t"line {n}\n' for n in range(50))


@given(cuts=st.sets(st.integers(1, len(TABLE) - 1), max_size=8))
def test_each_row_is_in_exactly_one_byte_range(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "a.tsv"
    path.write_text(TABLE)
    found: list[str] = []
    for start, end in pairwise([0, *sorted(cuts), None]):
        part = FilePart(str(path), start=start or 0, end=end)
        for piece in CsvReading(dialect=Dialect("\t", False)).pieces(part):
            found += piece.content["text"].to_pylist()
    assert found == [f'"line {n}' for n in range(50)]


def test_many_workers_read_one_file_without_quoting(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(TABLE)
    run = read(TsvReader(str(tmp_path), blocksize=100))
    assert run.report.of(1).tasks_in > 3
    assert len(rows(run)) == 50


def test_first_line_without_column_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,1\n2,3\n")
    with pytest.raises(StageError, match="not contain column names, but '1, 1'"):
        run_stages([CsvReader(str(tmp_path))], [Empty()])


def test_invalid_options_are_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,b\n")
    [_, stage] = CsvReader(str(tmp_path), fields=["txt"]).decompose()
    assert list(stage.check()) == ["a.csv has no field 'txt' (did you mean text?)"]
    [_, stage] = CsvReader(str(tmp_path), delimiter="||").decompose()
    assert list(stage.check()) == ["delimiter is '||', but must be one character, such as ;"]
