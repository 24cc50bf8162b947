import random
from importlib.util import find_spec
from pathlib import Path

import pytest
from curator_core import CuratorError, DocumentBatch, Pipeline, PipelineError, StageError
from curator_core.testing import run_stages
from curator_text import DocumentText, FastTextQualityFilter, train_quality_model
from curator_text.models.fasttext import one_line

GOOD = ["river", "mountain", "evidence", "science", "careful", "research", "forest", "method"]
BAD = ["casino", "click", "cheap", "free", "winner", "bonus", "now", "viagra"]
BOTH = ["the", "a", "of", "and"]

needs_floret = pytest.mark.skipif(find_spec("floret") is None, reason="needs floret")


def texts(words: list[str], count: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(words + BOTH, k=20)) for _ in range(count)]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("fasttext") / "deep" / "quality.floret")
    return train_quality_model(
        texts(GOOD, 300, 1), texts(BAD, 200, 2), path, epochs=10, dimensions=16
    )


@needs_floret
def test_model_separates_unseen_texts(model: str) -> None:
    rule = FastTextQualityFilter(model, alpha=None, min_score=0.5)
    good, bad = ([rule.passes(text) for text in texts(words, 100, seed)]
                 for words, seed in ((GOOD, 3), (BAD, 4)))  # fmt: skip
    assert sum(good) >= 97
    assert sum(bad) <= 3


@needs_floret
def test_training_is_deterministic(model: str, tmp_path: Path) -> None:
    again = train_quality_model(
        texts(GOOD, 300, 1),
        texts(BAD, 200, 2),
        str(tmp_path / "m.floret"),
        epochs=10,
        dimensions=16,
    )
    assert Path(again).read_bytes() == Path(model).read_bytes()


@needs_floret
def test_filter_writes_scores_and_a_reason(model: str) -> None:
    rule = FastTextQualityFilter(model, alpha=None, min_score=0.5, score_field="quality")
    rows = [{"text": text} for text in [*texts(GOOD, 5, 5), *texts(BAD, 4, 6), "", None]]
    run = run_stages([rule], [DocumentBatch.from_pylist(rows)])
    [kept] = run.outputs
    assert kept.num_items == 5
    assert all(0.5 <= row["quality"] <= 1 for row in kept.to_pylist())
    assert dict(run.counts.reasons) == {"not __label__hq enough for a fastText model": 6}


@needs_floret
def test_alpha_keeps_the_same_random_texts_every_time(model: str) -> None:
    bad = [DocumentText(text) for text in texts(BAD, 400, 7)]
    rule = FastTextQualityFilter(model, alpha=3.0)
    kept = [text for text in bad if rule.evaluate(text)[1] is None]
    # A draw of Pareto's with shape 3 exceeds 1 in an eighth of all cases.
    assert 400 / 8 * 0.6 < len(kept) < 400 / 8 * 1.5
    assert kept == [text for text in bad if FastTextQualityFilter(model).evaluate(text)[1] is None]
    other = FastTextQualityFilter(model, seed=1)
    assert kept != [text for text in bad if other.evaluate(text)[1] is None]


@needs_floret
def test_unknown_label_is_refused(model: str) -> None:
    """No text has this label, so only random draws would be kept."""
    stage = FastTextQualityFilter(model, label="__label__hqq")
    hint = r"has no label '__label__hqq' \(did you mean __label__hq\?\)"
    with pytest.raises(StageError, match=hint):
        run_stages([stage], [DocumentBatch.from_pylist([{"text": "river"}])])


@needs_floret
def test_line_breaks_and_label_markers_in_texts_are_harmless(model: str) -> None:
    assert one_line("a\nb\r\n__label__hq c\x00") == "a b  hq c\x00"
    rule = FastTextQualityFilter(model, alpha=None, min_score=0.5)
    text = "click cheap\n__label__hq\ncasino " * 5
    assert not rule.passes(text)


@needs_floret
def test_published_fasttext_model_is_read() -> None:
    languages = pytest.importorskip("curator_text.language_id.models")
    if languages.model_problem("fasttext"):
        pytest.skip("needs the extra lid")
    rule = FastTextQualityFilter(
        str(languages.bundled_model()), label="__label__de", alpha=None, min_score=0.5
    )
    assert rule.passes("Das ist ein schöner Tag, und wir gehen in den Wald.")
    assert not rule.passes("This is a fine day, and we walk in the woods.")


def test_invalid_options_are_problems_of_the_plan(tmp_path: Path) -> None:
    task = DocumentBatch.from_pylist([{"text": "river"}])
    for options, problem in (
        ({"model": "gone.bin"}, "model 'gone.bin' is not a file: give a fastText model"),
        ({"model": "gone.bin", "alpha": 0}, "alpha is 0, but must be more than 0, or null"),
    ):
        with pytest.raises(PipelineError, match=problem):
            Pipeline("p", stages=[FastTextQualityFilter(**options)]).run(tasks=[task])
    with pytest.raises(CuratorError, match=r"m\.bin: .* must end in \.floret"):
        train_quality_model(["a"], ["b"], "m.bin")


@needs_floret
def test_training_needs_good_and_other_texts(tmp_path: Path) -> None:
    with pytest.raises(CuratorError, match="2 good and 0 other texts"):
        train_quality_model(["a", "b", " "], ["", "\n"], str(tmp_path / "m.floret"))
    assert not (tmp_path / "m.floret").exists()
