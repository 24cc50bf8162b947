"""Statistics of documents: exact after resume and with changed inputs, shown by `curate`."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, JsonlReader, JsonlWriter, LocalExecutor, Pipeline
from curator_core.io.statistics import Summary, read_summary
from curator_core.testing import run_stage
from curator_report.page import write_report
from curator_text import DocumentStatistics, WordCountFilter

HERE = LocalExecutor(workers=0)


def write_input(folder: Path, name: str, *texts: str | None) -> None:
    folder.mkdir(exist_ok=True)
    rows = [{"text": text, "lang": "en", "score": len(text or "") / 10} for text in texts]
    (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def pipeline(tmp_path: Path) -> Pipeline:
    stages = [
        JsonlReader(str(tmp_path / "in")),
        DocumentStatistics(str(tmp_path / "before"), ["lang", "score"], "raw"),
        WordCountFilter(2),
        DocumentStatistics(str(tmp_path / "after"), label="kept").with_(name="statistics_after"),
        JsonlWriter(str(tmp_path / "out")),
    ]
    return Pipeline("count", stages=stages)


def collected(folder: Path) -> Summary:
    return read_summary(map(str, folder.glob("*.statistics.json")))


def test_lengths_and_columns_before_and_after_a_filter(tmp_path: Path) -> None:
    write_input(tmp_path / "in", "a", "one two\n\nthree", "one", None)
    write_input(tmp_path / "in", "b", "a b c d")
    result = pipeline(tmp_path).run(HERE)
    assert result.run_dir == str(tmp_path / "out/.curator/count")
    assert result.stages["document_statistics"].items_out == 4
    before = collected(tmp_path / "before")
    words = before.columns["raw words"]
    assert (words.numbers.total, words.numbers.most, words.missing) == (8, 4, 1)
    assert before.columns["raw lines"].numbers.total == 4
    assert before.columns["raw characters"].numbers.total == 14 + 3 + 7
    assert before.columns["lang"].values.top(3) == [("en", 4)]
    assert before.columns["score"].numbers.total == pytest.approx(2.4)
    assert collected(tmp_path / "after").columns["kept words"].numbers.count == 2


def test_rerun_counts_each_document_once(tmp_path: Path) -> None:
    write_input(tmp_path / "in", "a", "one two", "one two three")
    write_input(tmp_path / "in", "b", "a b")
    pipeline(tmp_path).run(HERE)
    before = collected(tmp_path / "before")
    pipeline(tmp_path).run(HERE)
    assert collected(tmp_path / "before") == before
    write_input(tmp_path / "in", "a", "one two three four")
    pipeline(tmp_path).run(HERE)
    assert collected(tmp_path / "before").columns["raw words"].numbers.count == 2
    assert collected(tmp_path / "after").columns["kept words"].numbers.total == 6


def test_number_of_workers_makes_no_difference(tmp_path: Path) -> None:
    for place in range(6):
        write_input(tmp_path / "in", str(place), *[f"{place} " * n for n in range(1, 5)])
    pipeline(tmp_path).run(HERE)
    alone = collected(tmp_path / "after")
    elsewhere = tmp_path / "two"
    elsewhere.mkdir()
    (elsewhere / "in").symlink_to(tmp_path / "in")
    pipeline(elsewhere).run(LocalExecutor(workers=2))
    assert collected(elsewhere / "after") == alone


def test_report_shows_statistics(tmp_path: Path) -> None:
    write_input(tmp_path / "in", "a", "one two", "one two three")
    run_dir = pipeline(tmp_path).run(HERE).run_dir
    assert run_dir is not None
    page = Path(write_report(run_dir)).read_text()
    assert ">Data</h2><h3>kept characters</h3><svg" in page
    assert "<h3>kept lines</h3>" in page


def curate(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from curator_cli import main; main()"
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_curate_statistics_combines_files(tmp_path: Path) -> None:
    write_input(tmp_path / "in", "a", "one two", "one two three")
    pipeline(tmp_path).run(HERE)
    shown = curate("statistics", str(tmp_path / "out"))
    assert shown.returncode == 0, shown.stderr
    assert "raw characters" in shown.stdout
    for place in ("before", "out"):
        facts = json.loads(curate("statistics", str(tmp_path / place), "--json").stdout)
        assert facts["columns"]["raw words"]["mean"] == 2.5
        assert facts["columns"]["lang"]["values"] == {"en": 2}
    assert {"kept characters", "kept words", "kept lines"} < set(facts["columns"])


def test_run_without_statistics_says_how_to_collect_them(tmp_path: Path) -> None:
    write_input(tmp_path / "in", "a", "one two")
    stages = [JsonlReader(str(tmp_path / "in")), JsonlWriter(str(tmp_path / "out"))]
    Pipeline("copy", stages=stages).run(HERE)
    shown = curate("statistics", str(tmp_path / "out"))
    assert shown.returncode != 0
    assert "run copy collected no statistics; put a stage such as" in shown.stderr


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.string()])
def test_columns_of_any_type(kind: pa.DataType, tmp_path: Path) -> None:
    table = pa.table({
        "text": ["a", None],
        "label": pa.array(["x", None], kind),
        "flag": [True, False],
        "many": [[1], None],
        "none": pa.nulls(2),
    })  # fmt: skip
    columns = ["label", "flag", "many", "none"]
    run_stage(DocumentStatistics(str(tmp_path / "s"), columns), DocumentBatch(table))
    found: dict[str, Any] = {}
    for path in (tmp_path / "s").iterdir():
        found = json.loads(path.read_text())["columns"]
    assert found["label"] == {"missing": 1, "values": {"counts": {"x": 1}}}
    assert found["flag"] == {"missing": 0, "values": {"counts": {"False": 1, "True": 1}}}
    assert found["many"]["values"] == {"counts": {"false": 1, "true": 1}}
    assert found["none"] == {"missing": 2}


def test_invalid_options_are_reported() -> None:
    stage = DocumentStatistics("", ["text words"], mode="apend")  # type: ignore[arg-type]
    path, mode, column = stage.check()
    assert "path is empty" in path
    assert "mode is 'apend' (did you mean append?)" in mode
    assert "text words" in column
