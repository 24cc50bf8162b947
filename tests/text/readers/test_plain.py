import gzip
from itertools import pairwise
from pathlib import Path

import pytest
from curator_core import Empty
from curator_core.model.files import FilePart
from curator_core.testing import StageRun, check_stage, run_stages
from curator_text import TextReader
from curator_text.readers.plain import TextReading, TextUnit
from hypothesis import given
from hypothesis import strategies as st

POEM = "one\ntwo\n\n\n  \nthree\r\nfour\n\nfive"


def read(path: Path, unit: TextUnit = "file") -> StageRun:
    return run_stages([TextReader(str(path), unit=unit)], [Empty()], on_error="quarantine")


def texts(run: StageRun) -> list[str]:
    return [text for task in run.outputs for text in task.data["text"].to_pylist()]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("file", [POEM]),
        ("line", ["one", "two", "three", "four", "five"]),
        ("paragraph", ["one\ntwo", "three\nfour", "five"]),
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_file_line_and_paragraph_units(
    tmp_path: Path, name: str, unit: TextUnit, expected: list[str]
) -> None:
    data = b"\xef\xbb\xbf" + POEM.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    run = read(tmp_path, unit)
    assert texts(run) == expected
    assert set(run.outputs[0].data["path"].to_pylist()) == {str(tmp_path / name)}
    check_stage(TextReader(str(tmp_path), unit=unit), Empty())


def test_bytes_that_are_not_utf8_are_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"fine\nb\xffd\nfine too\n")
    run = read(path, "line")
    assert texts(run) == ["fine", "fine too"]
    [bad] = run.report.quarantined
    assert (bad.reason, bad.where) == ("the text is not UTF-8: 0xff", f"{path} byte 6")


def test_truncated_document_is_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(POEM.encode() * 99)[:-9])
    run = read(path)
    assert texts(run) == []
    assert [bad.reason[:32] for bad in run.report.quarantined] == [
        "the compressed stream ends too e"
    ]


LINES = "".join(f"line {n}\n" for n in range(50))


@given(cuts=st.sets(st.integers(1, len(LINES) - 1), max_size=8))
def test_each_line_is_in_exactly_one_byte_range(
    tmp_path_factory: pytest.TempPathFactory, cuts: set[int]
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_text(LINES)
    found: list[object] = []
    for start, end in pairwise([0, *sorted(cuts), None]):
        part = FilePart(str(path), start=start or 0, end=end)
        found += [row[0] for row in TextReading(unit="line").rows(part)]
    assert found == LINES.splitlines()


def test_unknown_unit_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    [_, stage] = TextReader(str(tmp_path), unit="lines").decompose()  # type: ignore[arg-type]
    assert list(stage.check()) == ["no unit 'lines' (did you mean line?)"]
