"""EfficientNet-Lite0: a small network whose final features compare pictures, even on a CPU.

It is built from its weights: their shapes determine the layers. Batch normalization is folded into
the convolutions when they are loaded.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from curator_models.hub import ModelError
from torch import nn
from torch.nn import functional

from curator_image.models.preprocessing import Preprocessing

if TYPE_CHECKING:
    from torch import Tensor

_MEAN, _STD = 127 / 255, 128 / 255
PREPROCESSING = Preprocessing(224, (_MEAN, _MEAN, _MEAN), (_STD, _STD, _STD), center_crop=False)
WIDTH = 1280

_HALVING = {1, 3, 5, 11}
"""Blocks that halve the sides of a picture."""
_BLOCKS = 16
_EPSILON = 1e-3


class ConvLayer(nn.Module):
    """A convolution with folded normalization, padded so that sides halve exactly."""

    def __init__(self, weight: "Tensor", bias: "Tensor", stride: int, *, has_relu: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = nn.Parameter(bias, requires_grad=False)
        self.stride = stride
        self.has_relu = has_relu
        self.groups = weight.shape[0] if weight.shape[1] == 1 else 1

    def forward(self, cells: "Tensor") -> "Tensor":
        cells = self._pad_cells(cells)
        found = functional.conv2d(cells, self.weight, self.bias, self.stride, groups=self.groups)
        return functional.relu6(found) if self.has_relu else found

    def _pad_cells(self, cells: "Tensor") -> "Tensor":
        kernel, side = self.weight.shape[-1], cells.shape[-1]
        missing = max((-(-side // self.stride) - 1) * self.stride + kernel - side, 0)
        if not missing:
            return cells
        before, after = missing // 2, missing - missing // 2
        return functional.pad(cells, (before, after, before, after))


class EfficientNetLite(nn.Module):
    """Map pictures to unit vectors of 1280 numbers."""

    def __init__(self, state: "dict[str, Tensor]") -> None:
        super().__init__()
        self.stem = _conv_layer(state, "_conv_stem", "_bn0", stride=2)
        self.blocks = nn.ModuleList(_block(state, index) for index in range(_BLOCKS))
        self.head = _conv_layer(state, "_conv_head", "_bn1")

    def forward(self, pictures: "Tensor") -> "Tensor":
        cells = self.stem(pictures.contiguous(memory_format=torch.channels_last))
        for block in self.blocks:
            made = block(cells)
            cells = cells + made if made.shape == cells.shape else made
        return functional.normalize(self.head(cells).mean((2, 3)), dim=-1)


def _block(state: "dict[str, Tensor]", index: int) -> nn.Sequential:
    root = f"_blocks.{index}."
    stride = 2 if index in _HALVING else 1
    layers = []
    if f"{root}_expand_conv.weight" in state:
        layers.append(_conv_layer(state, f"{root}_expand_conv", f"{root}_bn0"))
    layers.append(_conv_layer(state, f"{root}_depthwise_conv", f"{root}_bn1", stride=stride))
    layers.append(_conv_layer(state, f"{root}_project_conv", f"{root}_bn2", has_relu=False))
    return nn.Sequential(*layers)


def _conv_layer(
    state: "dict[str, Tensor]", conv: str, norm: str, *, stride: int = 1, has_relu: bool = True
) -> ConvLayer:
    spread = (state[f"{norm}.running_var"] + _EPSILON).sqrt()
    scale = state[f"{norm}.weight"] / spread
    weight = state[f"{conv}.weight"] * scale[:, None, None, None]
    bias = state[f"{norm}.bias"] - state[f"{norm}.running_mean"] * scale
    return ConvLayer(weight, bias, stride, has_relu=has_relu)


def load_efficientnet(file: Path) -> EfficientNetLite:
    """Load the network from a file of weights. Loading cannot run code."""
    import pickle

    try:
        state: Any = torch.load(file, map_location="cpu", weights_only=True)
        network = EfficientNetLite(state)
    except (KeyError, AttributeError, TypeError) as error:
        raise ModelError(f"{file} is not an EfficientNet-Lite0: {error} is missing") from error
    except (OSError, RuntimeError, pickle.UnpicklingError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"cannot read the weights in {file}: {first}") from error
    for weights in network.parameters():  # channels-last weights halve the time
        if weights.dim() == 4:
            weights.data = weights.data.contiguous(memory_format=torch.channels_last)
    return network
