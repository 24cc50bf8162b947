from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_models as made
from curator_core import DocumentBatch, StageError
from curator_core.testing import run_stage
from curator_text import PromptTaskComplexity
from curator_text.models.complexity import DIMENSIONS, SCORE, WEIGHTS, Heads

Tiny = Callable[[str], str]


def test_a_prompt_is_told_by_all_heads(tiny: Tiny) -> None:
    stage = PromptTaskComplexity(
        model=tiny("prompts"), base_model=f"{tiny('prompts')}/base", device="cpu"
    )
    texts = ["the river reads slow", None]
    [told] = run_stage(stage, DocumentBatch.from_pylist([{"text": text} for text in texts]))
    known, blank = told.to_pylist()

    assert known["task_type_1"] in ("Chatbot", "Rewrite", "Other")
    assert 1 / 3 <= known["task_type_prob"] <= 1
    assert all(0 <= known[name] <= 1 for name in DIMENSIONS)
    expected = sum(WEIGHTS[name] * known[name] for name in WEIGHTS)
    assert known[SCORE] == pytest.approx(expected, abs=1e-5)
    assert {blank[name] for name in known if name != "text"} == {None}


def test_the_weights_are_those_that_were_published() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert WEIGHTS == {
        "creativity_scope": 0.35,
        "reasoning": 0.25,
        "constraint_ct": 0.15,
        "domain_knowledge": 0.15,
        "contextual_knowledge": 0.05,
        "number_of_few_shots": 0.05,
    }


def test_numbers_are_read_by_the_settings_of_the_model(tiny: Tiny) -> None:
    heads = Heads.of(Path(tiny("prompts")))
    parts = {name: np.eye(size)[0] for name, size in made.TARGETS.items()}
    parts["task_type"] = np.array([0.05, 0.87, 0.08])
    parts["creativity_scope"] = np.array([0.0, 0.5, 0.5])  # weights 0, 1, 2 over 2
    parts["number_of_few_shots"] = np.array([0.98, 0.0, 0.02])  # 0.02: too little to count
    read = heads.read(np.concatenate(list(parts.values())))

    assert (read["task_type_1"], read["task_type_2"]) == ("Rewrite", "NA")
    assert read["task_type_prob"] == 0.87
    assert read["creativity_scope"] == 0.75
    assert read["number_of_few_shots"] == 0
    assert read[SCORE] == pytest.approx(0.35 * 0.75)
    parts["task_type"] = np.array([0.1, 0.82, 0.08])
    assert heads.read(np.concatenate(list(parts.values())))["task_type_2"] == "Chatbot"


def test_another_model_is_refused(tiny: Tiny) -> None:
    stage = PromptTaskComplexity(model=tiny("labels"), device="cpu")
    with pytest.raises(StageError, match="lacks target_sizes, task_type_map, weights_map, divisor"):
        run_stage(stage, DocumentBatch.from_pylist([{"text": "river"}]))
