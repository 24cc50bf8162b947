from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tiny_models as made
from curator_core import DocumentBatch, StageError
from curator_core.testing import run_stage
from curator_text import PromptTaskComplexity
from curator_text.models.prompt_complexity import DIMENSIONS, SCORE, WEIGHTS, HeadSettings

Tiny = Callable[[str], str]


def test_all_heads_describe_a_prompt(tiny: Tiny) -> None:
    stage = PromptTaskComplexity(
        model=tiny("prompts"), base_model=f"{tiny('prompts')}/base", device="cpu"
    )
    texts = ["the river reads slow", None]
    [output] = run_stage(stage, DocumentBatch.from_pylist([{"text": text} for text in texts]))
    known, blank = output.to_pylist()

    assert known["task_type_1"] in ("Chatbot", "Rewrite", "Other")
    assert 1 / 3 <= known["task_type_prob"] <= 1
    assert all(0 <= known[name] <= 1 for name in DIMENSIONS)
    expected = sum(WEIGHTS[name] * known[name] for name in WEIGHTS)
    assert known[SCORE] == pytest.approx(expected, abs=1e-5)
    assert {blank[name] for name in known if name != "text"} == {None}


def test_weights_agree_with_the_published_ones() -> None:
    assert sum(WEIGHTS.values()) == pytest.approx(1)
    assert WEIGHTS == {
        "creativity_scope": 0.35,
        "reasoning": 0.25,
        "constraint_ct": 0.15,
        "domain_knowledge": 0.15,
        "contextual_knowledge": 0.05,
        "number_of_few_shots": 0.05,
    }


def test_outputs_are_interpreted_by_the_model_settings(tiny: Tiny) -> None:
    heads = HeadSettings.from_folder(Path(tiny("prompts")))
    parts = {name: np.eye(size)[0] for name, size in made.TARGETS.items()}
    parts["task_type"] = np.array([0.05, 0.87, 0.08])
    parts["creativity_scope"] = np.array([0.0, 0.5, 0.5])  # weights 0, 1, 2 over 2
    parts["number_of_few_shots"] = np.array([0.98, 0.0, 0.02])  # 0.02: too little to count
    to_record = heads.to_record(np.concatenate(list(parts.values())))

    assert (to_record["task_type_1"], to_record["task_type_2"]) == ("Rewrite", "NA")
    assert to_record["task_type_prob"] == 0.87
    assert to_record["creativity_scope"] == 0.75
    assert to_record["number_of_few_shots"] == 0
    assert to_record[SCORE] == pytest.approx(0.35 * 0.75)
    parts["task_type"] = np.array([0.1, 0.82, 0.08])
    assert heads.to_record(np.concatenate(list(parts.values())))["task_type_2"] == "Chatbot"


def test_other_models_are_refused(tiny: Tiny) -> None:
    stage = PromptTaskComplexity(model=tiny("labels"), device="cpu")
    with pytest.raises(StageError, match=r"config\.json has no target_sizes, task_type_map"):
        run_stage(stage, DocumentBatch.from_pylist([{"text": "river"}]))
