"""Heads: a few layers that turn CLIP vectors into scores."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from curator_core import InputError, NodeInfo, WorkerInfo
from curator_models.hub import ModelError
from curator_models.weights import WeightsFile, weights_digest

from curator_image.image_batch import ImageBatch
from curator_image.models.vector_columns import VectorScores, vector_matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HeadKind: TypeAlias = Literal["linear", "relu_sigmoid"]
"""`linear`: linear layers whose last output is the score, as in LAION's aesthetic predictors.
`relu_sigmoid`: ReLU in between and a probability at the end, as in its NSFW detector."""


@dataclass(frozen=True)
class DenseLayer:
    weight: "NDArray[np.float32]"
    bias: "NDArray[np.float32]"


@dataclass(frozen=True)
class Head:
    """Map vectors to one number each."""

    layers: Sequence[DenseLayer]
    kind: HeadKind
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
        for index, layer in enumerate(self.layers):
            values = values @ layer.weight.T + layer.bias
            if self.kind == "relu_sigmoid" and index < len(self.layers) - 1:
                values = np.maximum(values, 0.0)
        values = values[:, 0]
        if self.kind == "relu_sigmoid":
            values = 1.0 / (1.0 + np.exp(-values))
        return values.astype(np.float32)


def load_head(file: Path, kind: HeadKind) -> Head:
    """Load a head from a file of weights, with its layers in the order of their numbers."""
    state = _load_tensors(file)
    names = sorted((name for name in state if _is_layer(name, state)), key=_numbers_in)
    layers = [
        DenseLayer(state[name], state[name.removesuffix("weight") + "bias"]) for name in names
    ]
    if not layers or layers[-1].weight.shape[0] != 1 or not _are_chained(layers):
        shown = ", ".join(f"{name} {state[name].shape}" for name in names[:3]) or "no layers"
        raise ModelError(
            f"{file} is not a head that turns a vector into one number ({shown}); give the weights "
            "of LAION's predictor, or of a similar one"
        )
    return Head(layers, kind, _statistic(state, "mean"), _statistic(state, "variance"))


def _is_layer(name: str, state: dict[str, Any]) -> bool:
    bias = name.removesuffix("weight") + "bias"
    return name.endswith("weight") and state[name].ndim == 2 and bias in state


def _are_chained(layers: Sequence[DenseLayer]) -> bool:
    return all(one.weight.shape[0] == other.weight.shape[1] for one, other in pairwise(layers))


def _numbers_in(name: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", name)]


def _statistic(state: dict[str, Any], name: str) -> Any:
    found = [value for key, value in state.items() if key.rpartition(".")[2] == name]
    return found[0].reshape(-1) if found else None


def _load_tensors(file: Path) -> dict[str, Any]:
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
            f"{file} contains more than weights, and is not read for safety; convert it "
            "to safetensors"
        ) from error
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ModelError(f"cannot read the weights in {file}: {first}") from error


@dataclass(kw_only=True)
class HeadScores(VectorScores):
    """Read CLIP vectors and add a score for each."""

    weights: WeightsFile
    kind: HeadKind

    def inputs(self) -> Sequence[str]:
        return (self.embedding_field,)

    def check(self) -> Iterable[str]:
        yield from self.weights.problems()

    def setup_on_node(self, node: NodeInfo) -> None:
        self.weights.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        file = self.weights.file()
        self._head = load_head(file, self.kind)
        self._model_id = f"{file.name} sha256:{weights_digest([file])}"

    def teardown(self) -> None:
        vars(self).pop("_head", None)

    def process(self, task: ImageBatch) -> ImageBatch:
        vectors = vector_matrix(task.data.column(self.embedding_field), self.embedding_field)
        if task.num_items and vectors.shape[1] != self._head.width:
            raise InputError(
                f"the vectors in {self.embedding_field!r} have {vectors.shape[1]} numbers, but the "
                f"head expects {self._head.width}: it was trained for another model (LAION's heads "
                "for openai/clip-vit-large-patch14, 768)"
            )
        scores = self._head.scores(vectors).tolist() if task.num_items else []
        return self.scored(task, scores, self._model_id)
