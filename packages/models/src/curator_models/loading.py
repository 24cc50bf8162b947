"""Loading: weights into networks, without repository code by default and without unsafe pickles."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_models.hub import ModelError, first_line, read_config
from curator_models.transformers_compat import (
    import_transformers,
    loading_errors,
    silenced,
)

if TYPE_CHECKING:
    from torch import Tensor

_OPTIONAL_BUFFERS = ("position_ids", "token_type_ids")
"""Buffers that older versions saved, and newer ones compute."""


def read_labels(folder: Path) -> list[str]:
    """Return the labels of a model, in the order of its outputs."""
    labels = read_config(folder).get("id2label") or {}
    return [str(labels[key]) for key in sorted(labels, key=int)]


def load_weights(folder: Path) -> "dict[str, Tensor]":
    """Return all weights of a folder, from one file or several."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    weights: dict[str, Tensor] = {}
    try:
        for path in _parts(folder, "model.safetensors"):
            weights.update(load_file(path))
        if not weights:
            weights = _load_pickled(folder)
    except (OSError, SafetensorError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise ModelError(f"cannot read the weights in {folder}: {error}") from error
    if not weights:
        raise ModelError(
            f"no weights in {folder}: neither model.safetensors nor pytorch_model.bin is there"
        )
    return weights


def _parts(folder: Path, name: str) -> list[Path]:
    """Return the files of this name, which an index may split into parts."""
    index = folder / f"{name}.index.json"
    if index.is_file():
        parts = json.loads(index.read_bytes())["weight_map"].values()
        return [folder / Path(part).name for part in sorted(set(parts))]
    return [folder / name] if (folder / name).is_file() else []


def _load_pickled(folder: Path) -> "dict[str, Tensor]":
    """Load weights of the older format, without anything but tensors."""
    import pickle

    import torch

    weights: dict[str, Tensor] = {}
    for path in _parts(folder, "pytorch_model.bin"):
        try:
            weights.update(torch.load(path, map_location="cpu", weights_only=True))
        except pickle.UnpicklingError as error:
            raise ModelError(
                f"{path} holds more than weights, and is not read for safety; "
                "convert it to model.safetensors"
            ) from error
    return weights


def fill_network(network: Any, weights: "dict[str, Tensor]", folder: Path) -> Any:
    """Load weights into a network; fail if any are missing or unknown."""
    try:
        missing, unknown = network.load_state_dict(weights, strict=False)
    except RuntimeError as error:
        last_line = str(error).strip().splitlines()[-1].strip()
        raise ModelError(f"the weights in {folder} have another shape: {last_line}") from error
    unknown = [name for name in unknown if not name.endswith(_OPTIONAL_BUFFERS)]
    missing = [name for name in missing if not name.endswith(_OPTIONAL_BUFFERS)]
    if missing or unknown:
        examples = ", ".join([*missing, *unknown][:3])
        raise ModelError(
            f"the weights in {folder} belong to another kind of model: {len(missing)} are "
            f"missing and {len(unknown)} are unknown, such as {examples}"
        )
    return network


def build_untrained(folder: Path) -> Any:
    """Return a transformer built from its settings, without trained weights."""
    library = import_transformers()
    with loading_errors(folder):
        config = library.AutoConfig.from_pretrained(str(folder), trust_remote_code=False)
        return library.AutoModel.from_config(config, trust_remote_code=False)


def load_pretrained(
    kind: str, folder: Path, *, as_saved: bool = False, with_code: bool = False
) -> Any:
    """Return a model of transformers with its weights; `kind` is one of its AutoModel classes.

    `with_code` runs the code next to the weights: set it only if the user trusts that code.
    """
    import torch

    library = import_transformers()
    precision = "dtype" if int(library.__version__.partition(".")[0]) >= 5 else "torch_dtype"
    with loading_errors(folder), silenced(library):
        model, loading_info = getattr(library, kind).from_pretrained(
            str(folder),
            trust_remote_code=with_code,
            output_loading_info=True,
            **{precision: "auto" if as_saved else torch.float32},
        )
    missing = [str(key) for key in loading_info["missing_keys"] if not _is_optional(str(key))]
    if missing:
        examples = ", ".join(sorted(missing)[:3])
        raise ModelError(
            f"{folder} is a model for another purpose: {len(missing)} parts of an {kind} have no "
            f"trained weights in it, such as {examples}"
        )
    return model


def _is_optional(key: str) -> bool:
    """Return whether a weight may be missing, such as a pooling layer that is not used here."""
    return key.startswith("pooler.") or key.endswith(_OPTIONAL_BUFFERS)


def load_tokenizer(folder: Path) -> Any:
    """Return the tokenizer of a folder; fail if it has no vocabulary."""
    library = import_transformers()
    try:
        tokenizer = library.AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise ModelError(_tokenizer_problem(folder, first_line(error))) from error
    check_vocabulary(tokenizer, folder)
    return tokenizer


def check_vocabulary(tokenizer: Any, folder: Path) -> None:
    """Fail if a tokenizer has no vocabulary: its model would see no words and answer anyway."""
    if not has_vocabulary(tokenizer):
        raise ModelError(_tokenizer_problem(folder, "it has no vocabulary"))


def has_vocabulary(tokenizer: Any) -> bool:
    """Return whether a tokenizer has a vocabulary.

    For a folder without one, transformers creates a vocabulary of special tokens only.
    """
    if not tokenizer.vocab_files_names:  # its words are characters or bytes
        return True
    return len(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)) > 1


def _tokenizer_problem(folder: Path, why: str) -> str:
    return (
        f"cannot load a tokenizer from {folder}: {why}; save one next to the model "
        "(tokenizer.save_pretrained)"
    )
