"""Rows in folders by the value of a column: names, order, and runs that write such folders."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from curator_core import InputError, JsonlReader, JsonlWriter, LocalExecutor, OutputError, Pipeline
from curator_core.io.atomic_write import staged_name
from curator_core.io.listing import FileFilter, find_files
from curator_core.io.writers.base import MAX_VALUES, folder_of, split_by_value
from curator_core.model.files import FilePart
from hypothesis import given
from hypothesis import strategies as st

HERE = LocalExecutor(workers=0)


def parts(column: list[Any], kind: pa.DataType | None = None) -> dict[str, list[int]]:
    table = pa.table({"by": pa.array(column, kind), "row": range(len(column))})
    found = [(folder, rows["row"].to_pylist()) for folder, rows in split_by_value(table, "by")]
    assert len(dict(found)) == len(found)
    return dict(found)


def test_rows_keep_their_order_in_the_folder_of_their_value() -> None:
    assert parts(["b", "a", None, "b", ""]) == {"b": [0, 3], "a": [1], "%empty": [4], "%null": [2]}
    assert parts([2, 10, 2]) == {"2": [0, 2], "10": [1]}
    assert parts([True, False]) == {"True": [0], "False": [1]}
    assert parts([None, None]) == {"%null": [0, 1]}
    assert parts(["x", None, "x"], pa.dictionary(pa.int8(), pa.string())) == {
        "x": [0, 2],
        "%null": [1],
    }
    assert parts([], pa.string()) == {}
    views = {"x": [0, 3], "%null": [1], "%empty": [2]}
    assert parts(["x", None, "", "x"], pa.string_view()) == views


@given(st.lists(st.text(max_size=300), unique=True, max_size=20))
def test_every_value_has_a_folder_of_its_own_that_can_be_read(values: list[str]) -> None:
    names = [folder_of(value) for value in (None, *values)]
    assert len(set(names)) == len(names)
    for name in names:
        assert not name.startswith((".", "_"))
        assert not set("/\\\0*?[").intersection(name)
        assert 0 < len(name.encode()) < 200


def test_a_misspelt_column_is_reported() -> None:
    with pytest.raises(InputError, match=r"'by', which has 4,097 different values in one batch"):
        parts([str(number) for number in range(MAX_VALUES + 1)])
    with pytest.raises(InputError, match=r"'by', which holds double; folders are made of text"):
        parts([0.5])


def write_input(folder: Path, **languages: int) -> None:
    folder.mkdir(exist_ok=True)
    rows = [
        {"text": f"{lang} {n}", "lang": lang} for lang, c in languages.items() for n in range(c)
    ]
    (folder / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def pipeline(tmp_path: Path, **options: Any) -> Pipeline:
    writer = JsonlWriter(str(tmp_path / "out"), partition_by="lang", **options)
    return Pipeline("route", stages=[JsonlReader(str(tmp_path / "in")), writer])


def written(tmp_path: Path) -> dict[str, int]:
    found = Counter[str]()
    for path in (tmp_path / "out").glob("*/part-*.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        assert {row["lang"] for row in rows} == {path.parent.name}
        found[path.parent.name] += len(rows)
    return dict(found)


def test_a_run_writes_each_row_to_the_folder_of_its_value(tmp_path: Path) -> None:
    write_input(tmp_path / "in", en=3, de=2)
    result = pipeline(tmp_path).run(HERE)
    assert written(tmp_path) == {"en": 3, "de": 2}
    assert len(result.files) == 2
    manifest = json.loads((tmp_path / "out/de/_manifest.json").read_text())
    assert manifest["items"] == 2
    assert list(find_files([str(tmp_path / "out")], FileFilter((".jsonl",)))) == [
        FilePart(f.path, f.size, f.version)
        for f in find_files([str(tmp_path / "out/*/part-*")], FileFilter())
    ]


def test_changed_input_retracts_output_in_other_folders(tmp_path: Path) -> None:
    write_input(tmp_path / "in", en=3, de=2)
    pipeline(tmp_path).run(HERE)
    write_input(tmp_path / "in", en=4, fr=10)
    pipeline(tmp_path).run(HERE)
    assert written(tmp_path) == {"en": 4, "fr": 10}
    assert json.loads((tmp_path / "out/de/_manifest.json").read_text())["files"] == []


def test_leftovers_of_a_killed_run_in_subfolders_are_cleared(tmp_path: Path) -> None:
    write_input(tmp_path / "in", en=3, de=2)
    pipeline(tmp_path).run(HERE)
    [run] = (tmp_path / "out/.curator").iterdir()
    from curator_core.run.directory import run_token

    left = Path(staged_name(str(tmp_path / "out/en/part-x.jsonl"), run_token(str(run), {})))
    left.write_text("torn")
    pipeline(tmp_path).run(HERE)
    assert not left.exists()


def test_files_of_others_in_subfolders_are_refused(tmp_path: Path) -> None:
    write_input(tmp_path / "in", en=3)
    (tmp_path / "out/en").mkdir(parents=True)
    (tmp_path / "out/en/notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"out/en already holds other data \(notes.txt\)"):
        pipeline(tmp_path).run(HERE)


def test_overwriting_replaces_subfolders(tmp_path: Path) -> None:
    write_input(tmp_path / "in", en=3, de=2)
    pipeline(tmp_path).run(HERE)
    write_input(tmp_path / "in", fr=1)
    pipeline(tmp_path, mode="overwrite").run(HERE, run_dir=str(tmp_path / "other"))
    assert written(tmp_path) == {"fr": 1}


def test_a_column_that_is_not_written_can_choose_the_folder(tmp_path: Path) -> None:
    write_input(tmp_path / "in", en=1)
    pipeline(tmp_path, fields=["text"]).run(HERE)
    [path] = (tmp_path / "out/en").glob("part-*")
    assert json.loads(path.read_text()) == {"text": "en 0"}
