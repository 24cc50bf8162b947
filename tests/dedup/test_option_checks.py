"""Options of a wrong type are refused by name, also from Python, before anything is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator_core import LocalExecutor, PipelineError
from curator_dedup import (
    BloomDeduplication,
    ExactDeduplicationWorkflow,
    FuzzyDeduplicationWorkflow,
    SemanticDeduplicationWorkflow,
    SentenceDeduplicationWorkflow,
)
from curator_dedup.option_checks import wrong_types

WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (SemanticDeduplicationWorkflow, {"eps": "0.1"}, "eps is '0.1', but must be a number"),
    (SemanticDeduplicationWorkflow, {"eps": True}, "eps is True, but must be a number"),
    (
        SemanticDeduplicationWorkflow,
        {"n_clusters": 2.5},
        "n_clusters is 2.5, but must be a whole number or None",
    ),
    (FuzzyDeduplicationWorkflow, {"num_bands": "14"}, "num_bands is '14', but must be a whole"),
    (FuzzyDeduplicationWorkflow, {"verify": "0.8"}, "verify is '0.8', but must be a number or"),
    (SentenceDeduplicationWorkflow, {"sentences": None}, "sentences is None, but must be a whole"),
    (ExactDeduplicationWorkflow, {"keep_empty": "no"}, "keep_empty is 'no', but must be True or"),
]


@pytest.mark.parametrize(("kind", "options", "message"), WRONG)
def test_options_of_a_wrong_type_are_refused_before_the_run(
    tmp_path: Path, kind: Any, options: dict[str, Any], message: str
) -> None:
    workflow = kind(str(tmp_path / "raw"), str(tmp_path / "out"), **options)
    with pytest.raises(PipelineError, match=f"{workflow.name}: {message}"):
        workflow.run(LocalExecutor(workers=0))
    assert not (tmp_path / "out").exists()


def test_numpy_numbers_are_accepted() -> None:
    workflow = FuzzyDeduplicationWorkflow(
        "raw", "out", num_bands=np.int64(4), verify=np.float32(0.5), keep_empty=False
    )  # type: ignore[arg-type]
    assert not list(wrong_types(workflow))


def test_bloom_filter_refuses_them_too() -> None:
    stage = BloomDeduplication(capacity="many")  # type: ignore[arg-type]
    assert list(stage.check()) == ["capacity is 'many', but must be a whole number"]
