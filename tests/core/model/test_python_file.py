"""Functions of Python files: what their answers do, and what mistakes in them cause."""

from typing import Any

import pyarrow as pa
import pytest
from curator_core import DocumentBatch, Dropped, PipelineError, StageError
from curator_core.execution.run_stages import run_stages
from curator_core.model.python_file import PythonFunction, load_function

RULES = """
import pyarrow.compute as pc

def no_fox(text):
    return "fox" not in text

def shout(text):
    return text.upper()

def words(text):
    return len(text.split())

def forgets(text):
    text.upper()

def fails_on_fox(text):
    if "fox" in text:
        raise ValueError("a fox")
    return text

def long_ones(column):
    return pc.greater(pc.utf8_length(column), 5)

def first_row(table):
    return table.slice(0, 1)

def one_value(column):
    return [1]
"""


def ran(function: str, **options: Any) -> tuple[list[dict[str, Any]], Any]:
    """Return the records that a function leaves of two, and the counts."""
    batch = DocumentBatch(pa.table({"text": ["a fox", "the oaks"], "n": [1, 2]}))
    stage = PythonFunction(RULES, "rules.py", function, **options)
    run = run_stages([stage], [batch], on_error="quarantine")
    rows = [row for task in run.outputs for row in task.to_pylist()]  # type: ignore[attr-defined]
    return rows, run.counts


def test_true_and_false_filter() -> None:
    rows, counts = ran("no_fox")

    assert [row["n"] for row in rows] == [2]
    assert (counts.items_dropped, dict(counts.reasons)) == (1, {"rejected by no_fox": 1})


def test_text_replaces_the_column() -> None:
    assert [row["text"] for row in ran("shout")[0]] == ["A FOX", "THE OAKS"]


def test_other_answers_go_to_a_column_of_their_own() -> None:
    assert [row["words"] for row in ran("words")[0]] == [2, 2]


def test_into_keeps_all_answers_as_a_column() -> None:
    rows, counts = ran("no_fox", into="clean")

    assert [row["clean"] for row in rows] == [False, True]
    assert counts.items_dropped == 0


def test_a_function_over_a_column_and_one_over_a_batch() -> None:
    assert [row["n"] for row in ran("long_ones", over="column")[0]] == [2]
    rows, counts = ran("first_row", over="batch")
    assert ([row["n"] for row in rows], counts.items_dropped) == ([1], 1)


def test_a_record_that_it_fails_on_fails_alone_with_file_and_line() -> None:
    rows, counts = ran("fails_on_fox")

    assert ([row["n"] for row in rows], counts.items_rejected) == ([2], 1)


def test_a_forgotten_return_fails_every_record() -> None:
    rows, counts = ran("forgets")

    assert (rows, counts.items_rejected) == ([], 2)


def test_too_few_answers_are_refused() -> None:
    batch = DocumentBatch(pa.table({"text": ["a", "b"]}))
    stage = PythonFunction(RULES, "rules.py", "one_value", over="column")

    with pytest.raises(StageError, match=r"one_value \(rules.py\) returned 1 values for 2 records"):
        run_stages([stage], [batch])


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def no_fix(t): ...", "no function 'no_fox'.*no_fix"),
        ("import os", "no function 'no_fox'"),
        ("def no_fox(t:\n  pass", "rules.py:1"),
        ("import nowhere_at_all", "cannot be loaded.*nowhere_at_all"),
        ("no_fox = 3", "no function 'no_fox'"),
    ],
)
def test_files_that_do_not_have_the_function(source: str, message: str) -> None:
    with pytest.raises(PipelineError, match=message):
        load_function(source, "rules.py", "no_fox")


def test_dropped_records_are_counted_for_a_table_with_fewer_rows() -> None:
    stage = PythonFunction(RULES, "rules.py", "first_row", over="batch")
    stage.setup(None)  # type: ignore[arg-type]
    batch = DocumentBatch(pa.table({"text": ["a", "b", "c"]}))

    assert [part.items for part in stage.process(batch) if isinstance(part, Dropped)] == [2]
