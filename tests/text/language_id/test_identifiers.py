import pyarrow as pa
import pytest
from curator_core import DocumentBatch, StageError
from curator_core.testing import check_stage, run_stage, run_stages
from curator_text import LanguageIdentifier, ScriptIdentifier

pytest.importorskip("pycld2")
pytest.importorskip("py3langid")

ROWS = [
    {"text": "The train is not on time, and people are waiting on the platform."},
    {"text": "Поезд не пришёл по расписанию, и люди ждут на платформе."},
    {"text": None},
    {"text": " \n"},
    {"text": "7"},
]


def column(stage: LanguageIdentifier | ScriptIdentifier, name: str) -> list[object]:
    [batch] = run_stage(stage, DocumentBatch.from_pylist(ROWS))
    return batch.data.column(name).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("stage", [LanguageIdentifier(), ScriptIdentifier()])
def test_stage_fulfills_the_stage_contract(stage: LanguageIdentifier | ScriptIdentifier) -> None:
    check_stage(stage, DocumentBatch.from_pylist(ROWS))


def test_language_and_score_are_columns() -> None:
    assert column(LanguageIdentifier(), "language")[:4] == ["en", "ru", None, None]
    scores = column(LanguageIdentifier(), "language_score")
    assert scores[2:4] == [None, None]
    assert all(isinstance(score, float) and 0.5 < score <= 1 for score in scores[:2])


def test_language_below_min_score_is_undetermined() -> None:
    stage = LanguageIdentifier(min_score=1.01, language_field="lang")
    assert column(stage, "lang") == ["und", "und", None, None, "und"]


def test_script_and_share_are_columns() -> None:
    assert column(ScriptIdentifier(), "script") == ["Latin", "Cyrillic", None, None, "None"]
    assert column(ScriptIdentifier(), "script_share") == [1.0, 1.0, None, None, 0.0]


def test_batch_without_texts_has_the_same_column_types() -> None:
    batch = DocumentBatch.from_pylist([{"text": None}])
    [output] = run_stage(LanguageIdentifier(), batch)
    assert output.data.schema.field("language").type == pa.string()
    assert output.data.schema.field("language_score").type == pa.float64()


def test_invalid_bytes_quarantine_only_their_row() -> None:
    raw = pa.array([b"Hello there, my friend", b"\xff"]).view(pa.string())
    table = pa.table({"text": raw})
    run = run_stages([LanguageIdentifier()], [DocumentBatch(table)], on_error="quarantine")
    assert [row["language"] for row in run.outputs[0].to_pylist()] == ["en"]  # type: ignore[attr-defined]
    assert run.counts.items_rejected == 1


def test_invalid_options_are_problems_of_the_plan() -> None:
    [problem] = LanguageIdentifier(language_field="text").check()
    assert "would replace 'text'" in problem
    [problem] = ScriptIdentifier(script_field="a", score_field="a").check()
    assert "would be written to 'a'" in problem
    [problem] = LanguageIdentifier("no/such.ftz").check()
    assert "model 'no/such.ftz' is not a file (use cld2, fasttext, " in problem


def test_model_deleted_before_setup_is_named() -> None:
    with pytest.raises(StageError, match=r"could not be set up: model 'no/such\.ftz'"):
        run_stage(LanguageIdentifier("no/such.ftz"), DocumentBatch.from_pylist(ROWS))
