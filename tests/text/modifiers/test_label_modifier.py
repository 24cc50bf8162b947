from curator_core import DocumentBatch
from curator_core.testing import run_stage
from curator_text import FastTextLabelModifier


def test_each_text_is_one_line_after_its_label() -> None:
    batch = DocumentBatch.from_pylist([{"text": "a\nb __label__no c"}, {"text": None}])
    [after] = run_stage(FastTextLabelModifier("__label__hq"), batch)
    assert [row["text"] for row in after.to_pylist()] == ["__label__hq a b  no c", None]


def test_unusable_label_is_a_problem_of_the_plan() -> None:
    [problem] = FastTextLabelModifier("hq").check()
    assert problem == "label is 'hq', but fastText learns only from __label__hq"
