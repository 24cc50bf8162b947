"""Labels of tiny models, through the code that loads and runs the real ones."""

import json
import random
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import tiny_models as made
import torch
from curator_core import DocumentBatch, Pipeline, PipelineError, StageError, WorkerInfo
from curator_core.model.resources import Resources
from curator_core.model.stages import flatten
from curator_core.testing import check_stage, run_stage, run_stages
from curator_models.transformers_compat import import_transformers
from curator_text import (
    ContentTypeClassifier,
    DomainClassifier,
    FineWebEduClassifier,
    MultilingualDomainClassifier,
    QualityClassifier,
    SequenceClassifier,
)
from curator_text.models.classifiers import quality_label, round_score
from hypothesis import given, settings
from hypothesis import strategies as st

Tiny = Callable[[str], str]

TEXTS = ["the river reads slow", "buy now cheap casino click", "mountain", "wind and stone of " * 9]


def batch(*texts: str | None) -> DocumentBatch:
    rows = [{"id": place, "text": text} for place, text in enumerate(texts)]
    return DocumentBatch.from_pylist(rows)


def rows_of(stage: Any, *texts: str | None) -> list[dict[str, Any]]:
    return [row for task in run_stage(stage, batch(*texts)) for row in task.to_pylist()]


def by_hand(folder: str, text: str) -> torch.Tensor:
    """Return the logits of the saved model for one text, by transformers alone."""
    library = import_transformers()
    tokens = library.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = library.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        outputs = model(input_ids=tokens["input_ids"], attention_mask=tokens["attention_mask"])
    return outputs.logits[0]


def test_sequence_model_agrees_with_transformers(tiny: Tiny) -> None:
    folder = tiny("labels")
    stage = SequenceClassifier(
        model=folder, score_field="sure", probabilities_field="all", device="cpu"
    )

    for row, text in zip(rows_of(stage, *TEXTS), TEXTS, strict=True):
        expected = torch.softmax(by_hand(folder, text), dim=0)
        assert row["all"] == pytest.approx(expected.tolist(), abs=1e-5)
        assert row["label"] == ["good", "bad", "ugly"][int(expected.argmax())]
        assert row["sure"] == pytest.approx(max(row["all"]))


def test_first_token_model_agrees_with_a_linear_layer_on_deberta(tiny: Tiny) -> None:
    folder = Path(tiny("quality"))
    [row] = rows_of(
        QualityClassifier(model=str(folder), probabilities_field="all", device="cpu"), TEXTS[0]
    )
    state = made.load_state(folder)
    backbone = import_transformers().DebertaV2Model(made.deberta_config()).eval()
    inside = {k.removeprefix("model."): v for k, v in state.items() if k.startswith("model.")}
    backbone.load_state_dict(inside)
    tokens = import_transformers().AutoTokenizer.from_pretrained(folder)(
        TEXTS[0], return_tensors="pt"
    )
    with torch.inference_mode():
        hidden = backbone(tokens["input_ids"], tokens["attention_mask"]).last_hidden_state
        logits = hidden[0, 0] @ state["fc.weight"].T + state["fc.bias"]
    expected = torch.softmax(logits, dim=0)

    assert row["all"] == pytest.approx(expected.tolist(), abs=1e-5)
    assert row["quality_pred"] == ["High", "Medium", "Low"][int(expected.argmax())]


def test_transformer_configuration_may_come_from_another_folder(tiny: Tiny) -> None:
    folder = tiny("bare")
    named = rows_of(DomainClassifier(model=folder, device="cpu"), *TEXTS)
    given = rows_of(
        DomainClassifier(model=folder, base_model=f"{folder}/base", device="cpu"), *TEXTS
    )

    assert named == given
    assert {row["domain_pred"] for row in named} <= {"A", "B"}


def test_defaults_of_the_published_models() -> None:
    found = {
        kind.__name__: (kind().model, kind().max_chars, kind().max_seq_length)
        for kind in (
            QualityClassifier,
            DomainClassifier,
            MultilingualDomainClassifier,
            ContentTypeClassifier,
            FineWebEduClassifier,
        )
    }
    assert found == {
        "QualityClassifier": ("nvidia/quality-classifier-deberta", 6000, 1024),
        "DomainClassifier": ("nvidia/domain-classifier", 2000, 512),
        "MultilingualDomainClassifier": ("nvidia/multilingual-domain-classifier", 2000, 512),
        "ContentTypeClassifier": ("nvidia/content-type-classifier-deberta", 6000, 1024),
        "FineWebEduClassifier": ("HuggingFaceFW/fineweb-edu-classifier", None, 512),
    }
    assert QualityClassifier().model_inference_batch_size == 256


class LoadedClassifier:
    """The parts of a classifier, set up once for many batches."""

    def __init__(self, stage: Any) -> None:
        self.parts = flatten([stage])
        for part in self.parts:
            part.setup(WorkerInfo())

    def probabilities(self, texts: Sequence[str]) -> dict[str, list[float]]:
        task: Any = batch(*texts)
        for part in self.parts:
            [task] = part.process(task)
        return {row["text"]: row["all"] for row in task.to_pylist()}


@cache
def load(kind: type, folder: str, size: int, by_length: bool) -> LoadedClassifier:
    return LoadedClassifier(kind(model=folder, probabilities_field="all", device="cpu",
                   model_inference_batch_size=size, sort_by_length=by_length))  # fmt: skip


@settings(max_examples=15)
@given(data=st.data())
def test_answers_are_independent_of_order_and_batches(tiny: Tiny, data: st.DataObject) -> None:
    words = st.lists(st.sampled_from(made.WORDS), min_size=1, max_size=40).map(" ".join)
    texts = data.draw(st.lists(words, min_size=2, max_size=9, unique=True))
    order = data.draw(st.permutations(texts))
    size, by_length = data.draw(st.sampled_from([2, 3, 5])), data.draw(st.booleans())
    for kind, model in ((SequenceClassifier, "labels"), (QualityClassifier, "quality")):
        expected = load(kind, tiny(model), 1, True).probabilities(texts)
        found = load(kind, tiny(model), size, by_length).probabilities(order)
        assert list(found) == list(order)
        for text in texts:
            assert found[text] == pytest.approx(expected[text], abs=1e-5)


def test_missing_and_blank_texts_have_no_label_and_are_kept(tiny: Tiny) -> None:
    stage = SequenceClassifier(model=tiny("labels"), score_field="sure", device="cpu")
    found = rows_of(stage, None, "", " \n\t", "river")

    assert [row["label"] for row in found[:3]] == [None] * 3
    assert [row["sure"] for row in found[:3]] == [None] * 3
    assert found[3]["label"] is not None
    assert "_curator_tokens" not in found[0]
    nothing = run_stage(stage, batch(None, ""))
    assert nothing[0].to_pylist()[0]["label"] is None


def test_filter_by_counts_dropped_documents_by_label(tiny: Tiny) -> None:
    labels = [row["label"] for row in rows_of(
        SequenceClassifier(model=tiny("labels"), device="cpu"), *made.WORDS)]  # fmt: skip
    kept = labels[0]
    stage = SequenceClassifier(model=tiny("labels"), filter_by=[kept], device="cpu")
    run = run_stages([stage], [batch(*made.WORDS, None)])

    rows = [row for task in run.outputs for row in task.to_pylist()]
    assert [row["label"] for row in rows] == [kept] * labels.count(kept)
    expected = {f"label is {label}": labels.count(label) for label in set(labels) - {kept}}
    assert dict(run.report.of(2).reasons) == {**expected, "no text to label": 1}
    assert expected, "the tiny model must give its words different labels"


def test_max_chars_limits_the_text(tiny: Tiny) -> None:
    options: Any = {"model": tiny("labels"), "probabilities_field": "all", "device": "cpu"}
    short, long, blank = rows_of(
        SequenceClassifier(max_chars=9, **options),
        "the river",
        "the river casino",
        " " * 9 + "river",
    )
    assert short["all"] == long["all"]
    assert blank["label"] is None
    cut, whole = rows_of(SequenceClassifier(max_seq_length=4, **options), "the river", TEXTS[0])
    assert cut["all"] == whole["all"], "two words, and the marks around them"


def test_tokens_are_limited_to_the_positions_of_the_model(tiny: Tiny) -> None:
    stage = SequenceClassifier(model=tiny("labels"), max_seq_length=5000, device="cpu")
    [row] = rows_of(stage, "river " * 900)
    assert row["label"] is not None


def test_run_records_the_digest_of_the_weights(tiny: Tiny) -> None:
    stage = FineWebEduClassifier(model=tiny("score"), device="cpu")
    report = run_stages([stage], [batch(*TEXTS)]).report
    [(known_as, texts)] = report.of(1).models.items()  # after the tokenizer
    assert known_as.startswith(f"{Path(tiny('score')).name} sha256:")
    assert texts == len(TEXTS)


def test_fineweb_edu_scores_and_labels(tiny: Tiny) -> None:
    stage = FineWebEduClassifier(model=tiny("score"), device="cpu")
    for row, text in zip(rows_of(stage, *TEXTS), TEXTS, strict=True):
        score = float(by_hand(tiny("score"), text)[0])
        assert row["fineweb-edu-score-float"] == pytest.approx(score, abs=1e-5)
        assert row["fineweb-edu-score-int"] == round_score(score)
        assert row["fineweb-edu-score-label"] == quality_label(score)
    assert [round_score(score) for score in (-3.0, 0.4, 2.6, 7.0)] == [0, 0, 3, 5]
    assert [quality_label(score) for score in (2.49, 2.5)] == ["low_quality", "high_quality"]


def test_regression_model_adds_a_number(tiny: Tiny) -> None:
    stage = SequenceClassifier(
        model=tiny("score"), label_field=None, score_field="worth", device="cpu"
    )
    [row] = rows_of(stage, "river")
    assert row["worth"] == pytest.approx(float(by_hand(tiny("score"), "river")[0]), abs=1e-5)
    with pytest.raises(StageError, match="one number and no labels: set label_field to null"):
        rows_of(SequenceClassifier(model=tiny("score"), device="cpu"), "river")
    wrong = SequenceClassifier(
        model=tiny("labels"), label_field=None, score_field="worth", device="cpu"
    )
    with pytest.raises(StageError, match=r"outputs 3 labels .* set label_field"):
        rows_of(wrong, "river")


def test_multi_label_model_has_independent_probabilities(tmp_path: Path) -> None:
    folder = str(made.save_sequence_model(
        tmp_path / "m", ["x", "y"], problem_type="multi_label_classification"))  # fmt: skip
    stage = SequenceClassifier(model=folder, probabilities_field="all", device="cpu")
    [row] = rows_of(stage, "river")
    expected = torch.sigmoid(by_hand(folder, "river"))
    assert row["all"] == pytest.approx(expected.tolist(), abs=1e-5)


def test_stage_fulfills_the_stage_contract(tiny: Tiny) -> None:
    sample = batch("the river", None, "click now", "river")
    check_stage(SequenceClassifier(model=tiny("labels"), device="cpu"), sample)
    check_stage(FineWebEduClassifier(model=tiny("score"), device="cpu"), sample)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"filter_by": ["god"]}, r"unknown label 'god' in filter_by \(did you mean good\?\)"),
        ({"filter_by": "good"}, r"filter_by is the text 'good', but must be a list: \[good\]"),
        ({"filter_by": []}, "filter_by is empty, so every document would be dropped"),
        ({"model_inference_batch_size": 0}, "model_inference_batch_size is 0, but must be 1 or"),
        ({"max_chars": 0}, "max_chars is 0, but must be 1 or more"),
        ({"score_field": "label"}, "same column: label, label"),
        ({"label_field": "text"}, "its results would replace 'text', the column that holds the te"),
        ({"token_variable": "NO_SUCH"}, "'NO_SUCH', but no such environment variable is set"),
        ({"model": "./gone"}, "model './gone' is not a folder; give the folder of a model"),
    ],
)
def test_invalid_options_are_problems_of_the_plan(
    tiny: Tiny, options: dict[str, Any], problem: str
) -> None:
    stage = SequenceClassifier(**{"model": tiny("labels"), "device": "cpu", **options})
    with pytest.raises(PipelineError, match=problem):
        Pipeline("p", stages=[stage]).run(tasks=[batch("river")])


def test_missing_column_is_named(tiny: Tiny) -> None:
    stage = SequenceClassifier(model=tiny("labels"), text_field="txt", device="cpu")
    with pytest.raises(StageError, match=r"no column 'txt' \(did you mean text\?\)"):
        rows_of(stage, "river")


def test_invalid_bytes_quarantine_only_their_row(tiny: Tiny) -> None:
    texts = pa.array([b"river", b"\xff\xfe", b"click"], pa.binary()).view(pa.string())
    task = DocumentBatch(pa.table({"text": texts}))
    stage = SequenceClassifier(model=tiny("labels"), device="cpu")
    run = run_stages([stage], [task], on_error="quarantine")
    assert [row["text"] for out in run.outputs for row in out.to_pylist()] == ["river", "click"]
    assert run.report.of(0).items_rejected == 1


def test_resources_apply_only_to_the_model(tiny: Tiny) -> None:
    stage = SequenceClassifier(model=tiny("labels"), filter_by=["good"], device="cpu")
    wide = stage.with_(name="wide", resources=Resources(cpus=3), num_workers=2)
    parts = flatten([wide])
    assert [part.name for part in parts] == ["wide_tokens", "wide_model", "wide"]
    assert [part.resources.cpus for part in parts] == [1, 3, 1]
    assert [part.requested_workers for part in parts] == [None, 2, None]
    assert flatten([QualityClassifier(device="cuda")])[1].resources == Resources(gpus=1)


def test_weights_of_another_model_are_refused(tiny: Tiny, tmp_path: Path) -> None:
    stage = QualityClassifier(model=tiny("labels"), device="cpu")
    with pytest.raises(StageError, match="belong to another kind of model"):
        rows_of(stage, "river")
    folder = made.save_first_token_model(tmp_path / "m", ["a", "b"])
    settings = json.loads((folder / "config.json").read_text())
    settings["id2label"]["2"] = "c"
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(StageError, match="have another shape"):
        rows_of(QualityClassifier(model=str(folder), device="cpu"), "river")


def test_row_order_is_kept(tiny: Tiny) -> None:
    texts = [" ".join(random.Random(n).choices(made.WORDS, k=1 + n * 7 % 30)) for n in range(40)]
    stage = SequenceClassifier(model=tiny("labels"), model_inference_batch_size=7, device="cpu")
    assert [row["text"] for row in rows_of(stage, *texts)] == texts


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        (
            QualityClassifier,
            {},
            "label_field is null, but QualityClassifier outputs labels",
        ),
        (SequenceClassifier, {"model": "m"}, "name a column for the number in score_field"),
        (
            SequenceClassifier,
            {"model": "m", "score_field": "x", "filter_by": ["good"]},
            "label_field is null, so filter_by",
        ),
    ],
)
def test_conflicting_options_are_refused(kind: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(PipelineError, match=problem):
        kind(label_field=None, **options)
