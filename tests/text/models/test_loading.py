import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_models as made
import torch
from curator_models.loading import labels_in, pretrained, state_in, tokenizer_in
from curator_models.locating import ModelError
from safetensors.torch import save_file

Tiny = Callable[[str], str]


class Trap:
    """What a malicious file does when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


def test_a_pickle_that_does_something_is_not_read(tmp_path: Path) -> None:
    torch.save({"weight": Trap(tmp_path / "sprung")}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ModelError, match="holds more than weights, and is not read for safety"):
        state_in(tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_weights_of_the_older_format(tmp_path: Path) -> None:
    torch.save({"weight": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    assert torch.equal(state_in(tmp_path)["weight"], torch.ones(2))


def test_weights_in_several_files(tmp_path: Path) -> None:
    for number in (1, 2):
        save_file({f"w{number}": torch.ones(number)}, tmp_path / f"part-{number}.safetensors")
    listed = {"weight_map": {f"w{n}": f"part-{n}.safetensors" for n in (1, 2)}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(listed))
    assert {name: len(value) for name, value in state_in(tmp_path).items()} == {"w1": 1, "w2": 2}


def test_a_list_of_files_leads_to_no_other_folder(tmp_path: Path) -> None:
    inside = tmp_path / "model"
    inside.mkdir()
    save_file({"w": torch.ones(1)}, tmp_path / "secret.safetensors")
    listed = {"weight_map": {"w": "../secret.safetensors"}}
    (inside / "model.safetensors.index.json").write_text(json.dumps(listed))
    with pytest.raises(ModelError, match="cannot read the weights"):
        state_in(inside)


def test_damaged_and_missing_weights(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="holds no weights: neither model"):
        state_in(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(ModelError, match="cannot read the weights in"):
        state_in(tmp_path)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 torn"])
def test_damaged_weights_of_the_older_format(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(damage)
    with pytest.raises(ModelError, match="cannot read the weights in"):
        state_in(tmp_path)


def test_a_damaged_list_of_files(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors.index.json").write_text("{")
    with pytest.raises(ModelError, match="cannot read the weights in"):
        state_in(tmp_path)


@pytest.mark.parametrize("kind", ["bert", "deberta-v2", "roberta", "t5"])
def test_an_empty_vocabulary_is_no_tokenizer(tmp_path: Path, kind: str) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(ModelError, match=r"no tokenizer can be loaded from .*; save one beside"):
        tokenizer_in(tmp_path)


def test_a_model_for_something_else_is_not_filled_up_with_chance(tmp_path: Path) -> None:
    folder = made.save_sentence_model(tmp_path / "m", {}, normalize=False)
    with pytest.raises(
        ModelError, match=r"for something else: [24] parts of an AutoModelForSequence"
    ):
        pretrained("AutoModelForSequenceClassification", folder)


def test_code_that_comes_with_a_model_is_not_run(tiny: Tiny, tmp_path: Path) -> None:
    settings = json.loads((Path(tiny("labels")) / "config.json").read_text())
    settings["model_type"] = "homemade"
    settings["auto_map"] = {"AutoConfig": "own.Config"}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    (tmp_path / "own.py").write_text(f"import os; os.mkdir({str(tmp_path / 'sprung')!r})")
    with pytest.raises(ModelError, match="no model can be loaded from"):
        pretrained("AutoModel", tmp_path)
    assert not (tmp_path / "sprung").exists()


def test_labels_stand_in_the_order_of_the_outputs(tmp_path: Path) -> None:
    listed = {str(number): f"label {number}" for number in (10, 2, 0, 1)}
    (tmp_path / "config.json").write_text(json.dumps({"id2label": listed}))
    assert labels_in(tmp_path) == ["label 0", "label 1", "label 2", "label 10"]
