"""The TransNetV2 network, built from its weights.

It processes all frames of a window at once. Each layer convolves within each frame, then over
time at dilations 1, 2, 4 and 8. Batch normalization is folded into the weights when they are
loaded.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from curator_models.hub import ModelError
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

_DILATIONS = (1, 2, 4, 8)
_STACKS = 3
_NEIGHBOURS = 50
"""Each frame is compared with this many frames before and after it."""

_BINS = 512
_EPSILON = 1e-3
_COUNTS = "num_batches_tracked"


class _Weights:
    """Hand out weights by name, and record missing names."""

    def __init__(self, state: "dict[str, Tensor]") -> None:
        self._load_state = {name: one for name, one in state.items() if not name.endswith(_COUNTS)}
        self.missing: list[str] = []

    def take(self, name: str, *shape: int) -> "Tensor":
        found = self._load_state.pop(name, None)
        if found is None:
            self.missing.append(name)
            return torch.zeros(shape)
        if tuple(found.shape) != shape:
            raise ModelError(
                f"{name} is {_format_shape(found.shape)}, but must be {_format_shape(shape)}"
            )
        return found.float()

    def rest(self) -> list[str]:
        return list(self._load_state)


def _format_shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _frozen(weight: "Tensor") -> nn.Parameter:
    layout = torch.channels_last if weight.dim() == 4 else torch.contiguous_format
    return nn.Parameter(weight.contiguous(memory_format=layout), requires_grad=False)


class DilatedConvolution(nn.Module):
    """Convolve within each frame, then over time at four dilations in parallel."""

    def __init__(self, weights: _Weights, root: str, wide: int, filters: int) -> None:
        super().__init__()
        convs = [f"{root}.Conv3D_{dilation}.layers" for dilation in _DILATIONS]
        between, width = 2 * filters, 4 * filters
        within = [weights.take(f"{conv}.0.weight", between, wide, 1, 3, 3) for conv in convs]
        along = [weights.take(f"{conv}.1.weight", filters, between, 3, 1, 1) for conv in convs]
        norm = {
            name: weights.take(f"{root}.bn.{name}", width)
            for name in ("weight", "bias", "running_mean", "running_var")
        }
        scale = norm["weight"] / (norm["running_var"] + _EPSILON).sqrt()
        bias = norm["bias"] - norm["running_mean"] * scale
        self.within = _frozen(torch.cat(within)[:, :, 0])
        self.along = nn.ParameterList(
            _frozen(one[..., 0] * part[:, None, None, None])
            for one, part in zip(along, scale.chunk(4), strict=True)
        )
        self.biases = nn.ParameterList(map(_frozen, bias.chunk(4)))

    def forward(self, cells: "Tensor") -> "Tensor":
        """Map cells of (time, channels, height, width), keeping their memory layout."""
        cells = functional.conv2d(cells, self.within, padding=1)
        frames, _, height, width = cells.shape
        # Time becomes the height of one frame, and all positions become its width.
        rows = cells.permute(0, 2, 3, 1).reshape(1, frames, height * width, -1)
        parts = rows.permute(0, 3, 1, 2).chunk(4, dim=1)
        found = [
            functional.conv2d(part, weight, bias, padding=(dilation, 0), dilation=(dilation, 1))
            for part, weight, bias, dilation in zip(
                parts, self.along, self.biases, _DILATIONS, strict=True
            )
        ]
        joined = torch.cat(found, 1).permute(0, 2, 3, 1)
        return joined.reshape(frames, height, width, -1).permute(0, 3, 1, 2)


class ConvolutionStack(nn.Module):
    """Two layers with a residual connection from the first, then pooling to half the size."""

    def __init__(self, weights: _Weights, index: int) -> None:
        super().__init__()
        filters, root = 16 * 2**index, f"SDDCNN.{index}.DDCNN"
        self.first = DilatedConvolution(weights, f"{root}.0", 2 * filters if index else 3, filters)
        self.second = DilatedConvolution(weights, f"{root}.1", 4 * filters, filters)

    def forward(self, cells: "Tensor") -> "Tensor":
        early = functional.relu(self.first(cells))
        return functional.avg_pool2d(functional.relu(self.second(early)) + early, 2)


class TransNet(nn.Module):
    """Map thumbnails of 48x27 pixels to one logit each.

    The input has shape (time, 27, 48, 3) and integer type. An output above 0 means that a
    transition is likelier than not.
    """

    def __init__(self, state: "dict[str, Tensor]") -> None:
        super().__init__()
        weights = _Weights(state)
        self.stacks = nn.ModuleList(ConvolutionStack(weights, index) for index in range(_STACKS))
        similarity = "frame_sim_layer"
        self.projection = _linear(weights, f"{similarity}.projection", 448, 128)
        self.similarity = _linear(weights, f"{similarity}.fc", 2 * _NEIGHBOURS + 1, 128)
        self.colours = _linear(weights, "color_hist_layer.fc", 2 * _NEIGHBOURS + 1, 128)
        self.hidden = _linear(weights, "fc1", 4864, 1024)
        self.classifier = _linear(weights, "cls_layer1", 1024, 1)
        _linear(weights, "cls_layer2", 1024, 1)  # trained with the other head, but unused
        _refuse_others(weights)

    def forward(self, frames: "Tensor") -> "Tensor":
        cells = frames.permute(0, 3, 1, 2).float().div(255)
        cells = cells.contiguous(memory_format=torch.channels_last)
        means = []
        for stack in self.stacks:
            cells = stack(cells)
            means.append(cells.float().mean((2, 3)))
        seen = cells.permute(0, 2, 3, 1).flatten(1)
        with torch.autocast(frames.device.type, enabled=False):
            features = self.projection(torch.cat(means, 1))
            features = functional.relu(self.similarity(_similarity_to_neighbours(features)))
            colours = functional.relu(self.colours(_similarity_to_neighbours(_histograms(frames))))
        found = functional.relu(self.hidden(torch.cat([colours, features, seen.float()], 1)))
        return self.classifier(found)[:, 0].float()  # type: ignore[no-any-return]


def _linear(weights: _Weights, root: str, wide: int, width: int) -> nn.Linear:
    layer = nn.Linear(wide, width, device="meta")  # skips the random initialization
    layer.weight = _frozen(weights.take(f"{root}.weight", width, wide))
    layer.bias = _frozen(weights.take(f"{root}.bias", width))
    return layer


def _similarity_to_neighbours(vectors: "Tensor") -> "Tensor":
    """Return the cosines of each frame with its neighbours; 0 where there is none."""
    unit = functional.normalize(vectors, dim=1)
    cosines = functional.pad(unit @ unit.T, (_NEIGHBOURS, _NEIGHBOURS))
    positions = torch.arange(len(unit), device=unit.device)[:, None]
    return cosines.gather(1, positions + torch.arange(2 * _NEIGHBOURS + 1, device=unit.device))


def _histograms(frames: "Tensor") -> "Tensor":
    """Count the pixels of each frame in each of 512 colours."""
    red, green, blue = (frames.long() >> 5).flatten(1, 2).unbind(-1)
    colours = (red << 6) + (green << 3) + blue
    counts = torch.zeros(len(frames), _BINS, device=frames.device)
    return counts.scatter_add_(1, colours, torch.ones_like(colours, dtype=counts.dtype))


def _refuse_others(weights: _Weights) -> None:
    missing, unknown = weights.missing, weights.rest()
    if missing or unknown:
        shown = ", ".join([*missing, *unknown][:3])
        raise ModelError(
            f"these are the weights of another kind of model: {len(missing)} are missing and "
            f"{len(unknown)} are unknown, such as {shown}"
        )


def load_network(file: Path) -> TransNet:
    """Load the network from a file of weights. Loading cannot run code."""
    import pickle

    try:
        state: Any = _load_state(file)
        return TransNet(state).eval()
    except ModelError as error:
        raise ModelError(f"{file} holds no TransNetV2: {error}") from None
    except (OSError, RuntimeError, EOFError, AttributeError, pickle.UnpicklingError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"cannot read the weights in {file}: {first}") from error


def _load_state(file: Path) -> Any:
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(file)
    return torch.load(file, map_location="cpu", weights_only=True)
