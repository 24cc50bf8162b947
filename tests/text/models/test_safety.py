from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_models as made
import torch
from curator_core import DocumentBatch, Pipeline, PipelineError, StageError
from curator_core.testing import run_stage, run_stages
from curator_models.hub import ModelError
from curator_models.transformers_compat import import_transformers
from curator_text import AegisClassifier, InstructionDataGuard
from curator_text.models.safety import add_adapter, parse_verdict

Tiny = Callable[[str], str]
TEXTS = ["river mountain", "buy now cheap casino click", None, "wind"]


def batch(texts: Any = TEXTS) -> DocumentBatch:
    return DocumentBatch.from_pylist([{"text": text} for text in texts])


def rows_of(stage: Any) -> list[dict[str, Any]]:
    return [row for task in run_stage(stage, batch()) for row in task.to_pylist()]


@pytest.mark.parametrize(
    ("written", "label"),
    [
        ("safe", "safe"),
        (" Safe\n", "safe"),
        ("unsafe\nO3", "O3"),
        ("unsafe\nO13, O4", "O13"),
        ("unsafe", "unknown"),
        ("O3", "unknown"),
        ("", "unknown"),
        ("I am not sure", "unknown"),
    ],
)
def test_verdict_is_parsed(written: str, label: str) -> None:
    assert parse_verdict(written) == label


def test_causal_model_agrees_with_transformers(tiny: Tiny) -> None:
    folder = tiny("causal")
    stage = AegisClassifier(
        model=folder,
        adapter=None,
        verdict_field="verdict",
        max_new_tokens=5,
        model_inference_batch_size=3,
        max_seq_length=40,
        device="cpu",
    )
    found = rows_of(stage)

    library = import_transformers()
    tokenizer = library.AutoTokenizer.from_pretrained(folder)
    model = library.AutoModelForCausalLM.from_pretrained(folder).eval()
    for row, text in zip(found, TEXTS, strict=True):
        if text is None:
            assert row["verdict"] is row["aegis_pred"] is None
            continue
        prompt = tokenizer(f"the {text} now", add_special_tokens=False, return_tensors="pt")
        written = model.generate(
            input_ids=prompt["input_ids"],
            attention_mask=prompt["attention_mask"],
            max_new_tokens=5,
            do_sample=False,
            pad_token_id=0,
        )
        expected = tokenizer.decode(written[0, prompt["input_ids"].shape[1] :],
                                    skip_special_tokens=True)  # fmt: skip
        assert row["verdict"] == expected
        assert row["aegis_pred"] == parse_verdict(expected)


def test_filter_by_keeps_only_its_labels(tiny: Tiny) -> None:
    stage = AegisClassifier(model=tiny("causal"), adapter=None, prompt_template="of {text} of",
                            max_new_tokens=2, filter_by=["safe"], device="cpu")  # fmt: skip
    run = run_stages([stage], [batch()])
    assert run.outputs == []
    assert dict(run.report.of(2).reasons) == {
        "label is unknown": 3,
        "no text to label": 1,
    }


def test_model_without_chat_template_needs_a_prompt(tmp_path: Path) -> None:
    folder = made.save_causal_model(tmp_path / "m")
    stage = AegisClassifier(model=str(folder), adapter=None, device="cpu")
    with pytest.raises(StageError, match="no chat template: give its prompt in prompt_template"):
        rows_of(stage)


def test_lora_adapter_is_merged_into_the_weights(tiny: Tiny, tmp_path: Path) -> None:
    layer = "model.layers.0.mlp.down_proj"
    library = import_transformers()
    plain, changed = (library.AutoModelForCausalLM.from_pretrained(tiny("causal")) for _ in "12")
    state = {
        f"base_model.model.{layer}.lora_A.weight": torch.randn(2, 32),
        f"base_model.model.{layer}.lora_B.weight": torch.randn(16, 2),
    }
    made.write_adapter(tmp_path / "a", state, {"peft_type": "LORA", "r": 2, "lora_alpha": 6})
    add_adapter(changed, tmp_path / "a")

    down, up = state.values()
    expected = plain.get_submodule(layer).weight + 3 * up @ down
    assert torch.allclose(changed.get_submodule(layer).weight, expected, atol=1e-5)
    other = "model.layers.1.mlp.down_proj"
    assert torch.equal(changed.get_submodule(other).weight, plain.get_submodule(other).weight)


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        (
            "model.layers.0.mlp.down_proj.lora_A.weight",
            {"peft_type": "IA3"},
            "not a LoRA adapter.*IA3",
        ),
        ("model.nothing.lora_A.weight", {}, "for another model: .* has no model.nothing"),
        ("lm_head.weight", {}, "changes more than LoRA does, such as base_model.model.lm_head.w"),
        ("x.lora_A.weight", {"rank_pattern": {"x": 3}}, "different ranks for some layers"),
    ],
)
def test_other_adapters_are_refused(
    tiny: Tiny, tmp_path: Path, name: str, settings: dict[str, Any], problem: str
) -> None:
    state = {f"base_model.model.{name}": torch.randn(2, 16)}
    if name.endswith("lora_A.weight"):
        state[f"base_model.model.{name.replace('lora_A', 'lora_B')}"] = torch.randn(16, 2)
    made.write_adapter(
        tmp_path / "a", state, {"peft_type": "LORA", "r": 2, "lora_alpha": 2, **settings}
    )
    model = import_transformers().AutoModelForCausalLM.from_pretrained(tiny("causal"))
    with pytest.raises(ModelError, match=problem):
        add_adapter(model, tmp_path / "a")


def guard(tiny: Tiny, **options: Any) -> InstructionDataGuard:
    return InstructionDataGuard(
        max_seq_length=40,
        device="cpu",
        **{
            "model": tiny("guard"),
            "base_model": tiny("causal"),
            "adapter": tiny("adapter"),
            **options,
        },
    )


def test_guard_classifies_the_last_token(tiny: Tiny) -> None:
    found = rows_of(guard(tiny, adapter=None))
    library = import_transformers()
    tokenizer = library.AutoTokenizer.from_pretrained(tiny("causal"))
    backbone = library.AutoModel.from_pretrained(tiny("causal")).eval()
    state = made.load_state(Path(tiny("guard")))
    for row, text in zip(found, TEXTS, strict=True):
        if text is None:
            assert row["is_poisoned"] is row["instruction_data_guard_poisoning_score"] is None
            continue
        tokens = tokenizer(text, return_tensors="pt")
        with torch.inference_mode():
            vector = backbone(tokens["input_ids"]).last_hidden_state[0, -1]
            vector = vector / vector.norm()
            for name in ("input_layer", "hidden_layer_0", "hidden_layer_1"):
                vector = torch.relu(state[f"{name}.weight"] @ vector + state[f"{name}.bias"])
            last = state["hidden_layer_2.weight"] @ vector + state["hidden_layer_2.bias"]
            expected = float(torch.sigmoid(last))
        assert row["instruction_data_guard_poisoning_score"] == pytest.approx(expected, abs=1e-5)
        assert row["is_poisoned"] == (expected > 0.5)


def test_adapter_changes_the_scores_of_the_guard(tiny: Tiny) -> None:
    scores = [
        [row["instruction_data_guard_poisoning_score"] for row in rows_of(guard(tiny, **options))]
        for options in ({}, {"adapter": None})
    ]
    assert scores[0] != scores[1]


def test_drop_poisoned_drops_poisoned_and_blank_texts(tiny: Tiny) -> None:
    decisions = [row["is_poisoned"] for row in rows_of(guard(tiny))]
    run = run_stages([guard(tiny, drop_poisoned=True)], [batch()])
    kept = sum(task.num_items for task in run.outputs)
    reasons = dict(run.report.of(2).reasons)
    assert kept == decisions.count(False)
    assert reasons.get("poisoned", 0) == decisions.count(True)
    assert reasons["no text to label"] == 1


def test_guard_for_another_hidden_size_is_refused(tiny: Tiny, tmp_path: Path) -> None:
    made.save_guard(tmp_path / "g", width=8)
    stage = guard(tiny).__class__(
        model=str(tmp_path / "g"), base_model=tiny("causal"), adapter=None, device="cpu"
    )
    with pytest.raises(StageError, match=r"for a model of 8 dimensions, but base_model .* has 16"):
        rows_of(stage)


def test_missing_models_are_problems_of_the_plan(tiny: Tiny, tmp_path: Path) -> None:
    stage = guard(tiny, adapter="./gone", base_model=str(tmp_path))
    with pytest.raises(PipelineError) as caught:
        Pipeline("p", stages=[stage]).run(tasks=[batch()])
    assert "model './gone' is not a folder" in str(caught.value)
    assert f"model {str(tmp_path)!r} is a folder without config.json" in str(caught.value)
    with pytest.raises(StageError, match="it has no weight input_layer"):
        rows_of(guard(tiny, model=tiny("labels")))
