"""Networks: heads of published models on top of a transformer, with their original weight names.

This module imports torch, so import it only where a model is loaded.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, cast

import torch
from torch import Tensor, nn

Pooling: TypeAlias = Literal["mean", "last_token", "cls"]


def _hidden(backbone: Any, ids: Tensor, mask: Tensor) -> Tensor:
    """Return the last hidden state of each token."""
    return cast(Tensor, backbone(input_ids=ids, attention_mask=mask).last_hidden_state)


def pooled(hidden: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """Pool token vectors into one vector per text. Expects padding on the right."""
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "last_token":
        last = mask.sum(dim=1) - 1
        return hidden[torch.arange(len(hidden), device=hidden.device), last]
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    return (hidden * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-9)


class FirstTokenClassifier(nn.Module):
    """Label probabilities from the first token: NVIDIA's quality, domain and content models."""

    def __init__(self, backbone: Any, hidden_size: int, labels: int) -> None:
        super().__init__()
        self.model = backbone
        self.fc = nn.Linear(hidden_size, labels)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        logits = self.fc(_hidden(self.model, ids, mask)[:, 0])
        return torch.softmax(logits.float(), dim=1)


class SequenceOutputs(nn.Module):
    """Any sequence classification model: probabilities of its labels, or raw outputs."""

    def __init__(self, model: Any, activation: Literal["softmax", "sigmoid", "none"]) -> None:
        super().__init__()
        self.model = model
        self.activation = activation

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        logits = self.model(input_ids=ids, attention_mask=mask).logits.float()
        if self.activation == "softmax":
            return torch.softmax(logits, dim=-1)
        return torch.sigmoid(logits) if self.activation == "sigmoid" else cast(Tensor, logits)


class _Head(nn.Module):
    def __init__(self, hidden_size: int, classes: int) -> None:
        super().__init__()
        self.fc = nn.Linear(hidden_size, classes)

    def forward(self, vectors: Tensor) -> Tensor:
        return cast(Tensor, self.fc(vectors))


class PromptHeads(nn.Module):
    """Several heads with their own probabilities: the task of a prompt, and how hard it is."""

    def __init__(self, backbone: Any, hidden_size: int, classes: Sequence[int]) -> None:
        super().__init__()
        self.backbone = backbone
        for number, count in enumerate(classes):
            self.add_module(f"head_{number}", _Head(hidden_size, count))
        self._count = len(classes)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        vectors = pooled(_hidden(self.backbone, ids, mask), mask, "mean")
        heads = [self.get_submodule(f"head_{number}") for number in range(self._count)]
        return torch.cat([torch.softmax(head(vectors).float(), dim=1) for head in heads], dim=1)


class GuardLayers(nn.Module):
    """NVIDIA's Instruction-Data-Guard: a poisoning score from the last token."""

    def __init__(self, backbone: Any, state: dict[str, Tensor]) -> None:
        super().__init__()
        self.backbone = backbone
        for name in ("input_layer", "hidden_layer_0", "hidden_layer_1", "hidden_layer_2"):
            weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
            layer = nn.Linear(weight.shape[1], weight.shape[0])
            layer.load_state_dict({"weight": weight, "bias": bias})
            self.add_module(name, layer)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        found = pooled(_hidden(self.backbone, ids, mask), mask, "last_token").float()
        found = nn.functional.normalize(found, dim=-1)
        with torch.autocast(found.device.type, enabled=False):
            for name in ("input_layer", "hidden_layer_0", "hidden_layer_1"):
                found = torch.relu(self.get_submodule(name)(found))
            return torch.sigmoid(self.get_submodule("hidden_layer_2")(found))


class Embedder(nn.Module):
    """Network that returns one embedding per text."""

    def __init__(self, backbone: Any, pooling: Pooling, normalize: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.pooling = pooling
        self.normalize = normalize

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        vectors = pooled(_hidden(self.backbone, ids, mask).float(), mask, self.pooling)
        return nn.functional.normalize(vectors, dim=-1) if self.normalize else vectors
