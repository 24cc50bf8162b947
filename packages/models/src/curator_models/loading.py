"""Loading: weights into networks, without repository code by default and without unsafe pickles."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_models.importing import transformers
from curator_models.locating import ModelError, settings_in

if TYPE_CHECKING:
    from torch import Tensor

_HARMLESS = ("position_ids", "token_type_ids")
"""Buffers that older versions saved, and newer ones compute."""


def labels_in(folder: Path) -> list[str]:
    """Return the labels of a model, in the order of its outputs."""
    listed = settings_in(folder).get("id2label") or {}
    return [str(listed[key]) for key in sorted(listed, key=int)]


def state_in(folder: Path) -> "dict[str, Tensor]":
    """Return all weights of a folder, from one file or several."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    state: dict[str, Tensor] = {}
    try:
        for path in _weight_files(folder, "model.safetensors"):
            state.update(load_file(path))
        if not state:
            state = _pickled(folder)
    except (OSError, SafetensorError, RuntimeError, EOFError, ValueError, KeyError) as error:
        raise ModelError(f"cannot read the weights in {folder}: {error}") from error
    if not state:
        raise ModelError(
            f"{folder} holds no weights: neither model.safetensors nor pytorch_model.bin"
        )
    return state


def _weight_files(folder: Path, name: str) -> list[Path]:
    index = folder / f"{name}.index.json"
    if index.is_file():
        parts = json.loads(index.read_bytes())["weight_map"].values()
        return [folder / Path(part).name for part in sorted(set(parts))]
    return [folder / name] if (folder / name).is_file() else []


def _pickled(folder: Path) -> "dict[str, Tensor]":
    """Load weights of the older format, without anything but tensors."""
    import pickle

    import torch

    state: dict[str, Tensor] = {}
    for path in _weight_files(folder, "pytorch_model.bin"):
        try:
            state.update(torch.load(path, map_location="cpu", weights_only=True))
        except pickle.UnpicklingError as error:
            raise ModelError(
                f"{path} holds more than weights, and is not read for safety; "
                "convert it to model.safetensors"
            ) from error
    return state


def fill(network: Any, state: "dict[str, Tensor]", folder: Path) -> Any:
    """Load weights into a network; fail if any are missing or unknown."""
    try:
        missing, unknown = network.load_state_dict(state, strict=False)
    except RuntimeError as error:
        told = str(error).strip().splitlines()[-1].strip()
        raise ModelError(f"the weights in {folder} have another shape: {told}") from error
    unknown = [name for name in unknown if not name.endswith(_HARMLESS)]
    missing = [name for name in missing if not name.endswith(_HARMLESS)]
    if missing or unknown:
        shown = ", ".join([*missing, *unknown][:3])
        raise ModelError(
            f"the weights in {folder} are those of another kind of model: {len(missing)} are "
            f"missing and {len(unknown)} are unknown, such as {shown}"
        )
    return network


def empty_backbone(folder: Path) -> Any:
    """Return a transformer built from its settings, without trained weights."""
    library = transformers()
    with told(folder):
        config = library.AutoConfig.from_pretrained(str(folder), trust_remote_code=False)
        return library.AutoModel.from_config(config, trust_remote_code=False)


def pretrained(kind: str, folder: Path, *, as_saved: bool = False, with_code: bool = False) -> Any:
    """Return a model of transformers with its weights; `kind` is one of its AutoModel classes.

    `with_code` runs the code next to the weights: set it only if the user trusts that code.
    """
    import torch

    library = transformers()
    precision = "dtype" if int(library.__version__.partition(".")[0]) >= 5 else "torch_dtype"
    with told(folder), quiet(library):
        model, notes = getattr(library, kind).from_pretrained(
            str(folder),
            trust_remote_code=with_code,
            output_loading_info=True,
            **{precision: "auto" if as_saved else torch.float32},
        )
    missing = [str(name) for name in notes["missing_keys"] if not _is_harmless(str(name))]
    if missing:
        shown = ", ".join(sorted(missing)[:3])
        raise ModelError(
            f"{folder} is a model for something else: {len(missing)} parts of an {kind} have no "
            f"trained weights in it, such as {shown}"
        )
    return model


def tokenizer_in(folder: Path) -> Any:
    """Return the tokenizer of a folder; fail if it has no vocabulary."""
    try:
        found = transformers().AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except (OSError, ValueError, KeyError, ImportError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(_lack_of_tokenizer(folder, first)) from error
    refuse_wordless(found, folder)
    return found


def refuse_wordless(tokenizer: Any, folder: Path) -> None:
    """Fail if a tokenizer has no vocabulary: its model would see no words and answer anyway."""
    if not knows_words(tokenizer):
        raise ModelError(_lack_of_tokenizer(folder, "there is no vocabulary in it"))


def _lack_of_tokenizer(folder: Path, why: str) -> str:
    return (
        f"no tokenizer can be loaded from {folder}: {why}; save one beside the model "
        "(tokenizer.save_pretrained)"
    )


def knows_words(tokenizer: Any) -> bool:
    """Return whether a tokenizer has a vocabulary.

    For a folder without one, transformers creates a vocabulary of special tokens only.
    """
    if not tokenizer.vocab_files_names:  # its words are characters or bytes
        return True
    return len(set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens)) > 1


def _is_harmless(name: str) -> bool:
    """Return whether a weight may be missing, such as a pooling layer that is not used here."""
    return name.startswith("pooler.") or name.endswith(_HARMLESS)


@contextmanager
def told(folder: Path) -> Iterator[None]:
    """Raise errors of transformers about a folder as a ModelError with one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"no model can be loaded from {folder}: {first}") from error


@contextmanager
def quiet(library: Any) -> Iterator[None]:
    """Silence the progress bars and reports of transformers; problems that matter are raised."""
    voice = library.utils.logging
    level, bars = voice.get_verbosity(), voice.is_progress_bar_enabled()
    voice.set_verbosity_error()
    voice.disable_progress_bar()
    try:
        yield
    finally:
        voice.set_verbosity(level)
        if bars:
            voice.enable_progress_bar()
