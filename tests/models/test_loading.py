"""Weights are read without running code; models and tokenizers must be complete."""

import json
import os
from pathlib import Path

import pytest
import torch
from curator_models.hub import ModelError
from curator_models.loading import load_pretrained, load_tokenizer, load_weights, read_labels
from curator_models.transformers_compat import import_transformers
from safetensors.torch import save_file

TINY_BERT = {
    "model_type": "bert",
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
}


class Trap:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


def test_a_pickle_with_code_is_not_run(tmp_path: Path) -> None:
    torch.save({"weight": Trap(tmp_path / "sprung")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="holds more than weights, and is not read for safety"):
        load_weights(tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_weights_of_the_older_format(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    assert torch.equal(load_weights(tmp_path)["weight"], torch.ones(2))


def test_weights_in_several_files(tmp_path: Path) -> None:
    for number in (1, 2):
        save_file({f"w{number}": torch.ones(number)}, tmp_path / f"part-{number}.safetensors")
    listed = {"weight_map": {f"w{n}": f"part-{n}.safetensors" for n in (1, 2)}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(listed))
    assert {name: len(value) for name, value in load_weights(tmp_path).items()} == {
        "w1": 1,
        "w2": 2,
    }


def test_an_index_cannot_name_files_in_another_folder(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    save_file({"w": torch.ones(1)}, tmp_path / "secret.safetensors")
    listed = {"weight_map": {"w": "../secret.safetensors"}}
    (inside / "model.safetensors.index.json").write_text(json.dumps(listed))
    with pytest.raises(ModelError, match="cannot read the weights"):
        load_weights(inside)


def test_damaged_and_missing_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"neither model\.safetensors nor"):
        load_weights(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(ModelError, match="cannot read the weights in"):
        load_weights(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 torn"])
def test_damaged_weights_of_the_older_format(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(damage)
    with pytest.raises(ModelError, match="cannot read the weights in"):
        load_weights(tmp_path)


def test_a_damaged_index(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text("{")
    with pytest.raises(ModelError, match="cannot read the weights in"):
        load_weights(tmp_path)


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "roberta", "t5"])
def test_a_folder_without_a_vocabulary_has_no_tokenizer(tmp_path: Path, kind: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(ModelError, match=r"cannot load a tokenizer from .*; save one next to"):
        load_tokenizer(tmp_path)


def test_missing_weights_are_not_replaced_by_random_ones(tmp_path: Path) -> None:
    library = import_transformers()
    library.BertModel(library.BertConfig(**TINY_BERT)).save_pretrained(tmp_path)
    with pytest.raises(
        ModelError, match=r"for another purpose: [24] parts of an AutoModelForSequence"
    ):
        load_pretrained("AutoModelForSequenceClassification", tmp_path)


def test_code_next_to_the_weights_is_not_run(tmp_path: Path) -> None:
    config = {**TINY_BERT, "model_type": "homemade", "auto_map": {"AutoConfig": "own.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "own.py").write_text(f"import os; os.mkdir({str(tmp_path / 'sprung')!r})")
    with pytest.raises(ModelError, match="cannot load a model from"):
        load_pretrained("AutoModel", tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_labels_are_in_the_order_of_the_outputs(tmp_path: Path) -> None:
    listed = {str(number): f"label {number}" for number in (10, 2, 0, 1)}
    (tmp_path / "config.json").write_text(json.dumps({"id2label": listed}))
    assert read_labels(tmp_path) == ["label 0", "label 1", "label 2", "label 10"]
