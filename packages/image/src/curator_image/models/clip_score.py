"""CLIP scores: how well a text matches its picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from curator_core import AnyStage, InputError, NodeInfo, WorkerInfo
from curator_core.model.hardware import empty_device_cache
from curator_models.batching import MicroBatches
from curator_models.devices import choose_device, limit_threads
from curator_models.hub_options import HubOptions
from curator_models.weights import weight_files, weights_digest

from curator_image.filters.values import ScoreThreshold
from curator_image.image_batch import ImageBatch
from curator_image.models.base import ImageModel
from curator_image.models.clip import ClipSource
from curator_image.models.embedder import ClipVectors
from curator_image.models.vector_columns import VectorScores, vector_matrix

_VECTORS = "_curator_clip_vectors"


@dataclass(kw_only=True)
class ClipScoreFilter(HubOptions, ImageModel):
    """Drop pictures whose text does not match, by the cosine of their CLIP vectors.

    Common limits are .28 for CLIP B/32 (used for LAION-400M) and about .2 for L/14. A picture
    without text has no score, and is dropped if there is a limit.
    """

    model: str = "openai/clip-vit-large-patch14"
    """CLIP: a folder, or a name on Hugging Face."""

    text_field: str = "txt"
    """Column with the text."""

    embedding_field: str | None = None
    """Column with vectors of the same model, made by `ImageEmbedder`, to avoid computing them
    again."""

    score_field: str = "clip_score"
    """Column for the cosine, from -1 to 1."""

    min_score: float | None = 0.2
    """Minimum cosine to keep a picture; null only adds scores."""

    model_field: str | None = "clip_score_model"
    """Column for the name of the model and the digest of its weights; null writes none."""

    def model_stages(self) -> Sequence[AnyStage]:
        source = self.model_source(ClipSource, self.model)
        size = self.model_inference_batch_size
        texts = TextMatch(
            source=source,
            text_field=self.text_field,
            embedding_field=self.embedding_field or _VECTORS,
            score_field=self.score_field,
            model_field=self.model_field,
            drops_vectors=self.embedding_field is None,
            inference_batch_size=size,
        )
        if self.embedding_field is not None:
            return [texts]
        pictures = ClipVectors(source=source, embedding_field=_VECTORS, inference_batch_size=size)
        return [pictures, texts]

    def other_stages(self) -> Sequence[AnyStage]:
        if self.min_score is None:
            return ()
        return [ScoreThreshold(self.score_field, min_score=self.min_score, what="CLIP score")]


@dataclass(kw_only=True)
class TextMatch(VectorScores):
    """Compare texts with the vectors of their pictures."""

    source: ClipSource
    text_field: str
    inference_batch_size: int

    def inputs(self) -> Sequence[str]:
        return (self.text_field, self.embedding_field)

    def check(self) -> Iterable[str]:
        yield from self.source.problems()

    def setup_on_node(self, node: NodeInfo) -> None:
        self.source.fetch()

    def setup(self, worker: WorkerInfo) -> None:
        from curator_image.models.clip import ClipTokenizer, load_text_tower

        folder = self.source.folder()
        self._device = choose_device(worker, self.resources, self.name)
        limit_threads(worker)
        self._network = load_text_tower(folder).to(self._device).eval()
        self._tokenizer = ClipTokenizer(folder, self._network)
        self._model_id = f"{self.source.name} sha256:{weights_digest(weight_files(folder))}"
        self._batches = MicroBatches(self.inference_batch_size)

    def teardown(self) -> None:
        if vars(self).pop("_network", None) is not None and self.resources.needs_gpu:
            empty_device_cache()

    def process(self, task: ImageBatch) -> ImageBatch:
        pictures = vector_matrix(task.data.column(self.embedding_field), self.embedding_field)
        texts = task.data.column(self.text_field).to_pylist()
        if wrong := next((text for text in texts if not isinstance(text, str | None)), None):
            raise InputError(
                f"column {self.text_field!r} has {type(wrong).__name__} values, but must be text"
            )
        rows = [row for row, text in enumerate(texts) if text and not text.isspace()]
        scores: list[float | None] = [None] * len(texts)
        for row, vector in zip(rows, self._vectors([texts[row] for row in rows]), strict=True):
            if len(vector) != pictures.shape[1]:
                raise InputError(
                    f"the vectors in {self.embedding_field!r} have {pictures.shape[1]} numbers, "
                    f"but {self.source.name} makes {len(vector)}: they come from another model"
                )
            scores[row] = float(vector @ pictures[row])
        return self.scored(task, scores, self._model_id)

    def _vectors(self, texts: Sequence[str]) -> Sequence[Any]:
        def forward(indices: Sequence[int]) -> Sequence[Any]:
            import torch

            from curator_image.models.clip import text_vectors

            tokens = self._tokenizer.tokens([texts[index] for index in indices], self._device)
            with torch.inference_mode():
                return list(text_vectors(self._network, tokens).cpu().numpy())

        found, failed = self._batches.run([len(text) for text in texts], forward)
        if failed:
            raise next(iter(failed.values()))
        return found
