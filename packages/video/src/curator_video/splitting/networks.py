"""The TransNetV2 network, built from its weights.

It processes all pictures of a window at once. Each layer convolves within each picture, then over
time at dilations 1, 2, 4 and 8. Batch normalization is folded into the weights when they are
loaded.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from curator_models.locating import ModelError
from torch import nn
from torch.nn import functional

if TYPE_CHECKING:
    from torch import Tensor

_REACHES = (1, 2, 4, 8)
_STACKS = 3
_AROUND = 50
"""Each picture is compared with this many pictures before and after it."""
_BINS = 512
_EPSILON = 1e-3
_COUNTS = "num_batches_tracked"


class _Weights:
    """Hand out weights by name, and record missing names."""

    def __init__(self, state: "dict[str, Tensor]") -> None:
        self._state = {name: one for name, one in state.items() if not name.endswith(_COUNTS)}
        self.missing: list[str] = []

    def take(self, name: str, *shape: int) -> "Tensor":
        found = self._state.pop(name, None)
        if found is None:
            self.missing.append(name)
            return torch.zeros(shape)
        if tuple(found.shape) != shape:
            raise ModelError(f"{name} is {_by(found.shape)}, but must be {_by(shape)}")
        return found.float()

    def rest(self) -> list[str]:
        return list(self._state)


def _by(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _kept(weight: "Tensor") -> nn.Parameter:
    layout = torch.channels_last if weight.dim() == 4 else torch.contiguous_format
    return nn.Parameter(weight.contiguous(memory_format=layout), requires_grad=False)


class Layer(nn.Module):
    """Convolve within each picture, then over time at four dilations in parallel."""

    def __init__(self, weights: _Weights, root: str, wide: int, filters: int) -> None:
        super().__init__()
        convs = [f"{root}.Conv3D_{reach}.layers" for reach in _REACHES]
        between, made = 2 * filters, 4 * filters
        within = [weights.take(f"{conv}.0.weight", between, wide, 1, 3, 3) for conv in convs]
        along = [weights.take(f"{conv}.1.weight", filters, between, 3, 1, 1) for conv in convs]
        norm = {
            name: weights.take(f"{root}.bn.{name}", made)
            for name in ("weight", "bias", "running_mean", "running_var")
        }
        scale = norm["weight"] / (norm["running_var"] + _EPSILON).sqrt()
        bias = norm["bias"] - norm["running_mean"] * scale
        self.within = _kept(torch.cat(within)[:, :, 0])
        self.along = nn.ParameterList(
            _kept(one[..., 0] * part[:, None, None, None])
            for one, part in zip(along, scale.chunk(4), strict=True)
        )
        self.biases = nn.ParameterList(map(_kept, bias.chunk(4)))

    def forward(self, cells: "Tensor") -> "Tensor":
        """Map cells of (time, channels, height, width), keeping their memory layout."""
        cells = functional.conv2d(cells, self.within, padding=1)
        pictures, _, height, width = cells.shape
        # Time becomes the height of one picture, and all positions become its width.
        rows = cells.permute(0, 2, 3, 1).reshape(1, pictures, height * width, -1)
        parts = rows.permute(0, 3, 1, 2).chunk(4, dim=1)
        found = [
            functional.conv2d(part, weight, bias, padding=(reach, 0), dilation=(reach, 1))
            for part, weight, bias, reach in zip(
                parts, self.along, self.biases, _REACHES, strict=True
            )
        ]
        joined = torch.cat(found, 1).permute(0, 2, 3, 1)
        return joined.reshape(pictures, height, width, -1).permute(0, 3, 1, 2)


class Stack(nn.Module):
    """Two layers with a residual connection from the first, then pooling to half the size."""

    def __init__(self, weights: _Weights, place: int) -> None:
        super().__init__()
        filters, root = 16 * 2**place, f"SDDCNN.{place}.DDCNN"
        self.first = Layer(weights, f"{root}.0", 2 * filters if place else 3, filters)
        self.second = Layer(weights, f"{root}.1", 4 * filters, filters)

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
        self.stacks = nn.ModuleList(Stack(weights, place) for place in range(_STACKS))
        likeness = "frame_sim_layer"
        self.projection = _linear(weights, f"{likeness}.projection", 448, 128)
        self.likeness = _linear(weights, f"{likeness}.fc", 2 * _AROUND + 1, 128)
        self.colours = _linear(weights, "color_hist_layer.fc", 2 * _AROUND + 1, 128)
        self.whole = _linear(weights, "fc1", 4864, 1024)
        self.told = _linear(weights, "cls_layer1", 1024, 1)
        _linear(weights, "cls_layer2", 1024, 1)  # trained with the other head, but unused
        _refuse_others(weights)

    def forward(self, pictures: "Tensor") -> "Tensor":
        cells = pictures.permute(0, 3, 1, 2).float().div(255)
        cells = cells.contiguous(memory_format=torch.channels_last)
        means = []
        for stack in self.stacks:
            cells = stack(cells)
            means.append(cells.float().mean((2, 3)))
        seen = cells.permute(0, 2, 3, 1).flatten(1)
        with torch.autocast(pictures.device.type, enabled=False):
            alike = self.projection(torch.cat(means, 1))
            alike = functional.relu(self.likeness(_around(alike)))
            colours = functional.relu(self.colours(_around(_histograms(pictures))))
        found = functional.relu(self.whole(torch.cat([colours, alike, seen.float()], 1)))
        return self.told(found)[:, 0].float()  # type: ignore[no-any-return]


def _linear(weights: _Weights, root: str, wide: int, made: int) -> nn.Linear:
    layer = nn.Linear(wide, made, device="meta")  # skips the random initialization
    layer.weight = _kept(weights.take(f"{root}.weight", made, wide))
    layer.bias = _kept(weights.take(f"{root}.bias", made))
    return layer


def _around(vectors: "Tensor") -> "Tensor":
    """Return the cosines of each picture with its neighbours; 0 where there is none."""
    unit = functional.normalize(vectors, dim=1)
    cosines = functional.pad(unit @ unit.T, (_AROUND, _AROUND))
    places = torch.arange(len(unit), device=unit.device)[:, None]
    return cosines.gather(1, places + torch.arange(2 * _AROUND + 1, device=unit.device))


def _histograms(pictures: "Tensor") -> "Tensor":
    """Count the pixels of each picture in each of 512 colours."""
    red, green, blue = (pictures.long() >> 5).flatten(1, 2).unbind(-1)
    colours = (red << 6) + (green << 3) + blue
    counts = torch.zeros(len(pictures), _BINS, device=pictures.device)
    return counts.scatter_add_(1, colours, torch.ones_like(colours, dtype=counts.dtype))


def _refuse_others(weights: _Weights) -> None:
    missing, unknown = weights.missing, weights.rest()
    if missing or unknown:
        shown = ", ".join([*missing, *unknown][:3])
        raise ModelError(
            f"these are the weights of another kind of model: {len(missing)} are missing and "
            f"{len(unknown)} are unknown, such as {shown}"
        )


def loaded(file: Path) -> TransNet:
    """Load the network from a file of weights. Loading cannot run code."""
    import pickle

    try:
        state: Any = _state(file)
        return TransNet(state).eval()
    except ModelError as error:
        raise ModelError(f"{file} holds no TransNetV2: {error}") from None
    except (OSError, RuntimeError, EOFError, AttributeError, pickle.UnpicklingError) as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"cannot read the weights in {file}: {first}") from error


def _state(file: Path) -> Any:
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return load_file(file)
    return torch.load(file, map_location="cpu", weights_only=True)
