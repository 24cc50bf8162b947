from typing import Any

import pytest
from curator_core import DocumentBatch, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_text import Modify, Slicer, UrlRemover

ROWS = [{"title": "One", "text": "first text"}, {"title": None, "text": None}]


def shout(text: str) -> str:
    return text.upper()


def joined(title: str | None, text: str | None) -> str:
    return f"{title}: {text}"


Rows = list[dict[str, Any]]


def rows_after(stage: Modify, rows: Rows | None = None) -> Rows:
    [changed] = run_stage(stage, DocumentBatch.from_pylist(ROWS if rows is None else rows))
    return changed.to_pylist()  # type: ignore[attr-defined, no-any-return]


def test_function_rewrites_a_column() -> None:
    assert [row["text"] for row in rows_after(Modify(shout))] == ["FIRST TEXT", None]


def test_stage_fulfills_the_stage_contract() -> None:
    check_stage(Modify([shout, len], output_fields=[None, "size"]), DocumentBatch.from_pylist(ROWS))
    check_stage(Modify(joined, [["title", "text"]], "both"), DocumentBatch.from_pylist(ROWS))


def test_function_writes_another_column() -> None:
    rows = rows_after(Modify(len, "text", "size"))
    assert [row["size"] for row in rows] == [10, None]
    assert [row["text"] for row in rows] == ["first text", None]


def test_columns_are_passed_by_name() -> None:
    rows = rows_after(Modify(joined, [["title", "text"]], "text"))
    assert [row["text"] for row in rows] == ["One: first text", None]


def test_missing_values_are_not_passed() -> None:
    rows = rows_after(Modify(joined, [["title", "text"]], "text"), [{"title": None, "text": "a"}])
    assert rows[0]["text"] == "None: a"


def test_functions_and_modifiers_run_in_order() -> None:
    stage = Modify([shout, UrlRemover(), Slicer(0, 5)], ["text", "text", "text"], "short")
    assert [row["short"] for row in rows_after(stage)] == ["first", None]
    stage = Modify([shout, Slicer(0, 5)])
    assert [row["text"] for row in rows_after(stage)] == ["FIRST", None]


def test_function_may_read_the_column_of_the_one_before() -> None:
    stage = Modify([shout, len], ["text", "loud"], ["loud", "size"])
    assert stage.inputs() == ("text",)
    assert stage.outputs() == ("loud", "size")
    assert [row["size"] for row in rows_after(stage)] == [10, None]


def test_batch_function_gets_a_whole_column() -> None:
    sizes = []

    def many(texts: list[str]) -> list[str]:
        sizes.append(len(texts))
        return [text.upper() for text in texts]

    rows = [{"text": "a"}, {"text": None}, {"text": "b"}]
    batch = DocumentBatch.from_pylist(rows)
    [changed] = Modify(many, batched=True).process(batch)
    assert isinstance(changed, DocumentBatch)
    assert [row["text"] for row in changed.to_pylist()] == ["A", None, "B"]
    assert sizes == [2]


def test_batch_function_gets_several_columns() -> None:
    def many(title: list[str], text: list[str]) -> list[str]:
        return [f"{a}/{b}" for a, b in zip(title, text, strict=True)]

    rows = rows_after(Modify(many, [["title", "text"]], "both", batched=True))
    assert [row["both"] for row in rows] == ["One/first text", None]


def strict_batch(texts: list[str]) -> list[str]:
    return [str(1 / int(text)) for text in texts]


@pytest.mark.parametrize("batched", [False, True])
def test_document_that_fails_is_quarantined_alone(batched: bool) -> None:
    def alone(text: str) -> str:
        return strict_batch([text])[0]

    stage = Modify(strict_batch if batched else alone, batched=batched)
    batch = DocumentBatch.from_pylist([{"text": text} for text in ("1", "0", None, "2")])
    run = run_stages([stage], [batch], on_error="quarantine")
    assert [row["text"] for row in run.outputs[0].to_pylist()] == ["1.0", None, "0.5"]  # type: ignore[attr-defined]
    [failed] = run.report.quarantined
    assert failed.reason.startswith("ZeroDivisionError: division by zero (test_functions.py:")
    assert run.counts.items_rejected == 1


def test_batch_function_must_return_a_value_per_row() -> None:
    expected = "the function returned 0 values for 1"
    with pytest.raises(StageError, match=expected):
        rows_after(Modify(lambda texts: [], batched=True))


@pytest.mark.parametrize(
    ("stage", "problem"),
    [
        (Modify([]), "modifier_fn is empty; give at least one modifier"),
        (
            Modify([shout, shout], ["a", "b", "c"]),
            "input_fields names 3 columns for 2 functions; give one for each of them, or a list "
            'of lists for functions of several columns: [["title", "body"]]',
        ),
        (
            Modify(joined, [["title", "text"]]),
            "output_fields does not say where to write what is made of title, text",
        ),
        (
            Modify([shout], "text", ["a", "b"]),
            "output_fields names 2 columns for 1 functions; give one for each",
        ),
    ],
)
def test_invalid_options_are_problems_of_the_plan(stage: Modify, problem: str) -> None:
    assert list(stage.check()) == [problem]


def test_stage_is_named_after_its_functions() -> None:
    assert Modify(shout).name == "modify_shout"
    assert Modify([shout, UrlRemover()]).name == "modify_shout_url_remover"
    assert Modify(lambda text: text).name == "modify"


@pytest.mark.parametrize(
    ("stage", "facts"),
    [
        (Modify(123), ("modifier_fn", "123")),  # type: ignore[arg-type]
        (Modify(UrlRemover), ("modifier_fn", "UrlRemover(...)")),
        (Modify(str.upper, None), ("input_fields", "None")),  # type: ignore[arg-type]
        (Modify(str.upper, [None]), ("input_fields", "None")),  # type: ignore[list-item]
    ],
)
def test_other_objects_are_refused(stage: Modify, facts: tuple[str, str]) -> None:
    [problem] = stage.check()
    assert all(fact in problem for fact in facts)
