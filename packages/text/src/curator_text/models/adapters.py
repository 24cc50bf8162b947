"""Adapters: merge LoRA adapters into a model's weights, without extra libraries."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curator_models.locating import ModelError, settings_in

if TYPE_CHECKING:
    from torch import Tensor

_PREFIX = "base_model.model."
_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"


def add_adapter(model: Any, folder: Path) -> Any:
    """Merge an adapter into the model's own weights, so that it runs as fast as before."""
    import torch

    settings = settings_in(folder, "adapter_config.json")
    scale = _scale(settings, folder)
    state = _state(folder)
    layers = sorted(name.removesuffix(_DOWN) for name in state if name.endswith(_DOWN))
    if strange := [name for name in state if not name.endswith((_DOWN, _UP))]:
        raise ModelError(
            f"the adapter in {folder} changes more than LoRA does, such as {strange[0]}; "
            "merge it into its model beforehand"
        )
    with torch.no_grad():
        for layer in layers:
            weight = _weight(model, layer, folder)
            change = state[layer + _UP].float() @ state[layer + _DOWN].float()
            if settings.get("fan_in_fan_out"):
                change = change.T
            weight.copy_((weight.float() + scale * change.to(weight.device)).to(weight.dtype))
    return model


def _scale(settings: dict[str, Any], folder: Path) -> float:
    if settings.get("peft_type") != "LORA" or settings.get("use_dora"):
        kind = "DoRA" if settings.get("use_dora") else settings.get("peft_type")
        raise ModelError(
            f"{folder} holds no LoRA adapter (adapter_config.json says {kind!r}); "
            "merge it into its model beforehand"
        )
    if settings.get("rank_pattern") or settings.get("alpha_pattern"):
        raise ModelError(
            f"the adapter in {folder} has ranks of its own for some layers; "
            "merge it into its model beforehand"
        )
    rank = settings["r"]
    return float(settings["lora_alpha"] / (math.sqrt(rank) if settings.get("use_rslora") else rank))


def _state(folder: Path) -> "dict[str, Tensor]":
    import torch
    from safetensors.torch import load_file

    safe, old = folder / "adapter_model.safetensors", folder / "adapter_model.bin"
    if safe.is_file():
        return dict(load_file(safe))
    if old.is_file():
        return dict(torch.load(old, map_location="cpu", weights_only=True))
    raise ModelError(f"{folder} holds no adapter: there is no adapter_model.safetensors")


def _weight(model: Any, layer: str, folder: Path) -> Any:
    inside = layer.removeprefix(_PREFIX)
    for name in (inside, inside.removeprefix("model.")):  # with or without a head around the model
        try:
            return model.get_submodule(name).weight
        except AttributeError:
            continue
    raise ModelError(f"the adapter in {folder} is for another model: this one has no {inside}")
