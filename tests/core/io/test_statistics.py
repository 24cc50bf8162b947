"""Summaries of columns: in files, merged, and shown to people."""

import json
from pathlib import Path

import pytest
from curator_core import InputError
from curator_core.io.statistics import MAX_VALUES, Distribution, Summary, ValueCounts, read_summary
from curator_report.html import render_part
from curator_report.statistics import bars, column_figures, facts_of


def summary(*values: object) -> Summary:
    made = Summary()
    for value in values:
        made.column("x").add(value)  # type: ignore[arg-type]
    return made


def test_files_add_up(tmp_path: Path) -> None:
    paths = []
    for place, values in enumerate([(1.0, 2.0, None), ("en", "en", True), ("de", 3.0)]):
        paths.append(str(tmp_path / f"{place}.statistics.json"))
        Path(paths[-1]).write_text(json.dumps(summary(*values).to_json()))
    merged = read_summary(reversed(paths))
    assert merged == summary(1.0, 2.0, None, "en", "en", True, "de", 3.0)
    column = facts_of(merged)["columns"]["x"]
    assert (column["count"], column["mean"], column["missing"]) == (3, 2.0, 1)
    assert column["values"] == {"en": 2, "True": 1, "de": 1}


def test_other_files_are_reported(tmp_path: Path) -> None:
    for content in ("[1]", "{", '{"format": 2}'):
        path = tmp_path / "a.statistics.json"
        path.write_text(content)
        with pytest.raises(InputError, match=r"a.statistics.json holds no statistics: "):
            read_summary([str(path)])


def test_the_most_frequent_values_stay() -> None:
    values = ValueCounts()
    for number in range(3 * MAX_VALUES):
        values.add(f"v{number}")
        values.add("common")
    again = ValueCounts.from_json(json.loads(json.dumps(values.to_json())))
    assert len(again.counts) == MAX_VALUES
    assert again.total == 6 * MAX_VALUES
    assert again.top(1) == [("common", 3 * MAX_VALUES)]


def test_plots_contain_every_number_once() -> None:
    wide = Distribution.of([2**n for n in range(30)])
    narrow = Distribution.of([-1.0, -0.5, 0.0, 0.25, 1.0])
    for numbers in (wide, narrow, Distribution.of([5.0])):
        shown = bars(numbers)
        assert sum(height for _, _, height in shown) == numbers.count
        assert len(shown) <= 60
        assert shown[0][0] == pytest.approx(numbers.least, rel=0.03)
    assert bars(wide)[-1][1] >= wide.most


def test_the_page_escapes_text_from_data() -> None:
    made = summary("<script>", 1.0, 2.0, None)
    made.columns["<b>"] = made.columns["x"]
    page = render_part("statistics", "columns", column_figures(made))
    assert "<script>" not in page
    assert "&lt;b&gt;" in page
    assert "<svg" in page
    assert "1 missing" in page
