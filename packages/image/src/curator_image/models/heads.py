"""Heads: a few layers over CLIP vectors, in numpy because they are too small for a device."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from curator_models.locating import ModelError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Shape: TypeAlias = Literal["linear", "relu_sigmoid"]
"""`linear`: linear layers whose last output is the score, as in LAION's aesthetic predictors.
`relu_sigmoid`: ReLU in between and a probability at the end, as in its NSFW detector."""


@dataclass(frozen=True)
class Layer:
    weight: "NDArray[np.float32]"
    bias: "NDArray[np.float32]"


@dataclass(frozen=True)
class Head:
    """Map vectors to one number each."""

    layers: Sequence[Layer]
    shape: Shape
    mean: "NDArray[np.float32] | None" = None
    variance: "NDArray[np.float32] | None" = None

    @property
    def width(self) -> int:
        return int(self.layers[0].weight.shape[1])

    def scores(self, vectors: "NDArray[np.float32]") -> "NDArray[np.float32]":
        import numpy as np

        values: NDArray[Any] = vectors
        if self.mean is not None and self.variance is not None:
            values = (values - self.mean) / np.sqrt(np.maximum(self.variance, 1e-12))
        for place, layer in enumerate(self.layers):
            values = values @ layer.weight.T + layer.bias
            if self.shape == "relu_sigmoid" and place < len(self.layers) - 1:
                values = np.maximum(values, 0.0)
        values = values[:, 0]
        if self.shape == "relu_sigmoid":
            values = 1.0 / (1.0 + np.exp(-values))
        return values.astype(np.float32)


def head_in(file: Path, shape: Shape) -> Head:
    """Load a head from a file of weights, with its layers in the order of their numbers."""
    state = _state(file)
    names = sorted((name for name in state if _is_layer(name, state)), key=_counted)
    layers = [Layer(state[name], state[name.removesuffix("weight") + "bias"]) for name in names]
    if not layers or layers[-1].weight.shape[0] != 1 or not _fit(layers):
        shown = ", ".join(f"{name} {state[name].shape}" for name in names[:3]) or "no layers"
        raise ModelError(
            f"{file} holds no head that makes one number of a vector ({shown}); give the weights "
            "of LAION's predictor, or of one built like it"
        )
    return Head(layers, shape, _said(state, "mean"), _said(state, "variance"))


def _is_layer(name: str, state: dict[str, Any]) -> bool:
    bias = name.removesuffix("weight") + "bias"
    return name.endswith("weight") and state[name].ndim == 2 and bias in state


def _fit(layers: Sequence[Layer]) -> bool:
    return all(one.weight.shape[0] == other.weight.shape[1] for one, other in pairwise(layers))


def _counted(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _said(state: dict[str, Any], name: str) -> Any:
    found = [value for key, value in state.items() if key.rpartition(".")[2] == name]
    return found[0].reshape(-1) if found else None


def _state(file: Path) -> dict[str, Any]:
    """Load tensors from a file; pickled formats are read without running code."""
    import pickle

    import numpy as np

    try:
        if file.suffix == ".safetensors":
            from safetensors.numpy import load_file

            return {name: value.astype(np.float32) for name, value in load_file(file).items()}
        import torch

        found = torch.load(file, map_location="cpu", weights_only=True)
        return {name: value.float().numpy() for name, value in found.items()}
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{file} holds more than weights, and is not read for safety; convert it to safetensors"
        ) from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"cannot read the weights in {file}: {first}") from error
