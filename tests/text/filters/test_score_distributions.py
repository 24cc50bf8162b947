"""Filters report each score once, with both engines."""

import json
import random
from pathlib import Path

import pytest
from curator_core import LocalExecutor, Pipeline
from curator_core.model.scores import Scores
from curator_text import (
    Filter,
    FunctionFilter,
    GopherQualityFilter,
    JsonlReader,
    JsonlWriter,
    MeanWordLengthFilter,
    NumbersFilter,
    Score,
    ScoreFilter,
    WordCountFilter,
)
from curator_text.compiled.engine import VARIABLE
from curator_text.document_text import DocumentText
from curator_text.filters.base import TextFilter


def texts(count: int = 300) -> list[str]:
    draw = random.Random(5)
    words = ["the", "harbour", "9", "of", "and", "antidisestablishmentarianism", "boat"]
    drawn = [" ".join(draw.choices(words, k=draw.randint(1, 120))) for _ in range(count)]
    return [*drawn, "", "  ", "Ein Boot lag still.", "\u4e00\u4e8c \u4e09"]


def write(folder: Path, files: int = 3) -> Path:
    folder.mkdir()
    for number in range(files):
        lines = (json.dumps({"text": text}) + "\n" for text in texts()[number::files])
        (folder / f"{number}.jsonl").write_text("".join(lines))
    return folder


def rules() -> list[TextFilter]:
    return [WordCountFilter(20), NumbersFilter(max_number_to_text_ratio=0.05),
            MeanWordLengthFilter(max_mean_word_length=7)]  # fmt: skip


def expected() -> list[Scores]:
    """Return the scores of each rule for the texts that earlier rules kept."""
    left = [text for text in texts() if text.strip()]
    found = []
    for rule in rules():
        scores = {text: rule.score(DocumentText(text)) for text in left}
        kept = [text for text in left if rule.keeps(scores[text])]
        dropped = [text for text in left if not rule.keeps(scores[text])]
        found.append(Scores.of([scores[t] for t in kept], [scores[t] for t in dropped]))
        left = kept
    return found


@pytest.mark.parametrize("engine", ["python", "compiled"])
@pytest.mark.parametrize("workers", [0, 2])
def test_every_score_counts_once(
    engine: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine == "compiled":
        pytest.importorskip("numba")
    monkeypatch.setenv(VARIABLE, engine)
    stages = [JsonlReader(str(write(tmp_path / "in"))), *rules(), GopherQualityFilter(),
              JsonlWriter(str(tmp_path / "out"))]  # fmt: skip
    result = Pipeline("scored", stages=stages).run(LocalExecutor(workers=workers))
    found = [result.stages[rule.name].scores for rule in rules()]
    assert found == [{"score": scores} for scores in expected()]
    assert result.stages["gopher_quality_filter"].scores == {}


def test_scores_have_the_name_of_their_column(tmp_path: Path) -> None:
    stages = [
        JsonlReader(str(write(tmp_path / "in"))),
        Score(WordCountFilter(), "words"),
        Score(lambda text: text[:1], "first", score_type="string").with_(name="first"),
        Filter(lambda words: words > 60, "words").with_(name="long"),
        ScoreFilter(FunctionFilter(lambda text: "boat" in text), score_field="boats"),
    ]
    stages = Pipeline("named", stages=stages).run(LocalExecutor(workers=0)).stages
    words = [len(text.split()) for text in texts() if text.strip()]
    assert stages["word_count_score"].scores == {"words": Scores.of(words)}
    assert stages["first"].scores == {}
    long = Scores.of([n for n in words if n > 60], [n for n in words if n <= 60])
    assert stages["long"].scores == {"words": long}
    [(name, scores)] = list(stages.values())[-1].scores.items()
    assert name == "boats"
    assert sum(scores.kept.values()) == list(stages.values())[-1].items_out
