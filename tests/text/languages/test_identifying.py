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
def test_the_promises_of_stages(stage: LanguageIdentifier | ScriptIdentifier) -> None:
    check_stage(stage, DocumentBatch.from_pylist(ROWS))


def test_languages_are_columns() -> None:
    assert column(LanguageIdentifier(), "language")[:4] == ["en", "ru", None, None]
    scores = column(LanguageIdentifier(), "language_score")
    assert scores[2:4] == [None, None]
    assert all(isinstance(score, float) and 0.5 < score <= 1 for score in scores[:2])


def test_what_is_not_sure_enough_is_undetermined() -> None:
    stage = LanguageIdentifier(min_score=1.01, language_field="lang")
    assert column(stage, "lang") == ["und", "und", None, None, "und"]


def test_scripts_are_columns() -> None:
    assert column(ScriptIdentifier(), "script") == ["Latin", "Cyrillic", None, None, "None"]
    assert column(ScriptIdentifier(), "script_share") == [1.0, 1.0, None, None, 0.0]


def test_a_batch_without_any_text_has_columns_of_the_same_type() -> None:
    batch = DocumentBatch.from_pylist([{"text": None}])
    [told] = run_stage(LanguageIdentifier(), batch)
    assert told.data.schema.field("language").type == pa.string()
    assert told.data.schema.field("language_score").type == pa.float64()


def test_bytes_that_are_no_text_are_set_aside_alone() -> None:
    raw = pa.array([b"Hello there, my friend", b"\xff"]).view(pa.string())
    table = pa.table({"text": raw})
    run = run_stages([LanguageIdentifier()], [DocumentBatch(table)], on_error="quarantine")
    assert [row["language"] for row in run.outputs[0].to_pylist()] == ["en"]  # type: ignore[attr-defined]
    assert run.counts.items_rejected == 1


def test_mistakes_are_problems_of_the_plan() -> None:
    assert list(LanguageIdentifier(language_field="text").check()) == [
        "its results would replace 'text', the column that holds the text"
    ]
    assert list(ScriptIdentifier(script_field="a", score_field="a").check()) == [
        "both of its results would be written to 'a'"
    ]
    assert list(LanguageIdentifier("no/such.ftz").check()) == [
        "model 'no/such.ftz' is no file (use cld2, fasttext, or the path of a fastText model)"
    ]


def test_a_model_that_is_gone_when_a_worker_starts_is_named() -> None:
    expected = "could not be set up: model 'no/such.ftz' is no file"
    with pytest.raises(StageError, match=expected):
        run_stage(LanguageIdentifier("no/such.ftz"), DocumentBatch.from_pylist(ROWS))
