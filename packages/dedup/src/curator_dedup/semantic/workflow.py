"""Find and remove semantic duplicates in one call."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, get_args

from curator_core import (
    InputError,
    ParquetWriter,
    Pipeline,
    PipelineError,
    Resources,
    WorkflowResult,
)
from curator_core.io.partitioning import parse_size
from curator_core.io.shuffle import ExchangeListing, ExchangeWriter

from curator_dedup.cluster_workflow import ClusterWorkflow
from curator_dedup.input_fields import sample_fields
from curator_dedup.intermediate_files import counts_in
from curator_dedup.option_checks import too_small
from curator_dedup.semantic.assign import ClusterAssigning
from curator_dedup.semantic.compare import ClusterComparing, WhichToKeep
from curator_dedup.semantic.embedding import (
    DOCUMENT_PLACE,
    ID,
    VECTOR_FIELD,
    EmbeddingTextReading,
    embedder,
    missing_embedder,
)
from curator_dedup.semantic.kmeans import CenterTraining, Init
from curator_dedup.semantic.sample import SampledListing, VectorSampling
from curator_dedup.workflow import partitions_for

_TEXT = "text"

_PARTITION_BYTES = 1 << 28
"""Bytes of vectors per partition."""

_MAX_SAMPLE, _MIN_SAMPLE = 100_000, 20_000
_SAMPLE_PER_CLUSTER = 64
_MIN_PER_CLUSTER = 16


@dataclass
class SemanticDeduplicationWorkflow(ClusterWorkflow):
    """Find documents, images or clips with similar embeddings, and remove them.

    Vectors are clustered by k-means, and compared with all others of their cluster. The same files
    and options give the same result on every executor, with any number of workers.
    """

    embedding_field: str = VECTOR_FIELD
    """Field with the vectors: lists of numbers, all of the same length."""

    embedding_model: str | None = None
    """Embed the texts first with this model: its folder, or its name at Hugging Face. Needs
    curator-text[models]."""

    text_field: str = "text"
    """Field that embedding_model embeds."""

    id_field: str | None = None
    """Field that identifies documents in the decisions. It has no other effect."""

    n_clusters: int | None = None
    """Number of clusters. More clusters are faster, but separate more duplicates from each other.
    If unset, about the square root of the number of vectors."""

    eps: float = 0.01
    """Vectors with a cosine of 1 - eps or more are duplicates."""

    which_to_keep: WhichToKeep = "hard"
    """Which duplicate to keep: farthest from the center (hard), nearest to it (easy), or random."""

    init: Init = "k-means++"
    """How the first centers are chosen: k-means++ or random."""

    max_iter: int = 20
    """Maximum number of passes of k-means over its sample."""

    tol: float = 1e-4
    """K-means stops when its centers move less than this (mean squared distance)."""

    sample_size: int | None = None
    """Number of vectors in the sample for k-means. If unset, 64 for each of n_clusters and at least
    20,000; 100,000 if n_clusters is unset too."""

    random_state: int = 42
    """Seed of the sample, of k-means and of which_to_keep="random"."""

    memory: int | str = "1GB"
    """Memory for the vectors of a partition; larger ones are kept in a temporary file."""

    resources: Resources = field(default_factory=Resources)
    """Resources of each worker that multiplies vectors. It uses its GPU if it has one and torch is
    installed, otherwise as many threads as it has CPUs."""

    name = "semantic_deduplication"

    @property
    def field_options(self) -> Mapping[str, str | None]:
        if self.embedding_model is not None:
            return {"text_field": self.text_field, "id_field": self.id_field}
        return {"embedding_field": self.embedding_field, "id_field": self.id_field}

    @property
    def allowed_values(self) -> Mapping[str, Sequence[Any]]:
        return {
            **super().allowed_values,
            "which_to_keep": get_args(WhichToKeep),
            "init": get_args(Init),
        }

    def report_fields(self) -> Sequence[str]:
        """Return the text field; without one, all fields that describe an image or a clip."""
        if self.embedding_model is not None:
            return [self.text_field]
        fields = sample_fields(self.listing().listing, self.storage_options).fields
        shown = [name for name in fields if name != self.embedding_field]
        return [_TEXT] if _TEXT in shown else shown

    def check(self) -> Iterable[str]:
        yield from super().check()
        yield from self._wrong_embedding()
        if not 0 <= self.eps < 1:
            yield (
                f"eps is {self.eps}, but must be 0 (the same direction) or more, and below 1, "
                "where vectors that have nothing in common would be duplicates"
            )
        yield from self._wrong_numbers()
        if not (isfinite(self.tol) and self.tol >= 0):
            yield f"tol is {self.tol}, but must be 0 or more"
        try:
            if parse_size(self.memory) is None:
                yield "memory is None, but must be a size such as 256MB or 64MiB"
        except PipelineError as error:
            yield str(error).replace("blocksize", "memory")

    def _wrong_embedding(self) -> Iterator[str]:
        if self.embedding_model is None:
            if self.text_field != "text":
                yield "text_field is for embedding_model; name a model too, or leave it out"
            sampled = sample_fields(self.listing().listing, self.storage_options)
            if sampled and not sampled.file_with(self.embedding_field):
                yield "to embed the texts of the documents first, name an embedding_model"
            return
        if self.embedding_field != VECTOR_FIELD:
            yield "embedding_field and embedding_model are both set; drop one"
        if (problem := missing_embedder()) is not None:
            yield problem

    def _wrong_numbers(self) -> Iterator[str]:
        yield from too_small(self, ("n_clusters", "sample_size", "max_iter"))
        if self.n_clusters and self.sample_size and 1 <= self.sample_size < self.n_clusters:
            yield (
                f"sample_size is {self.sample_size}, but must be at least n_clusters, "
                f"{self.n_clusters}, since each center begins as a vector of the sample"
            )
        if not 0 <= self.random_state < 1 << 64:
            yield f"random_state is {self.random_state}, but must be from 0 to 2**64 - 1"

    def pipelines(self, result: WorkflowResult) -> Iterator[Pipeline]:
        files = self.listing().files()
        if self.embedding_model is not None:
            yield self._embed(self.embedding_model)
            self.refuse_unreadable_files(result, "embed")
        yield self._draw_sample()
        sampled = counts_in(self.folder("sample"), self.storage_options)
        if not sampled["vectors"]:
            option = "embedding_field" if self.embedding_model is None else "text_field"
            content = "a vector" if self.embedding_model is None else "text"
            raise InputError(
                f"{self.name}: no document has {content} in {getattr(self, option)!r}; "
                f"name another {option}"
            )
        self._refuse_too_many_clusters(sampled["vectors"])
        partitions = self.partitions or partitions_for(4 * sampled["numbers"], _PARTITION_BYTES)
        yield self._train(self.n_clusters or clusters_for(sampled["vectors"], self._sample_size))
        yield self._assign(partitions)
        self.refuse_unreadable_files(result, "assign")
        yield self._compare(partitions)
        self.refuse_changed_input(files)
        yield self.remove(partitions)
        result.metadata |= self.counts("assignments")

    def _refuse_too_many_clusters(self, vectors: int) -> None:
        """Refuse more clusters than vectors: nothing would be compared."""
        if self.n_clusters and self.n_clusters > vectors:
            raise InputError(
                f"{self.name}: n_clusters is {self.n_clusters:,}, but there are only {vectors:,} "
                "vectors, so that none would be compared with another; leave n_clusters out or "
                "give fewer, and start over with resume=False (--no-resume)"
            )

    @property
    def _sample_size(self) -> int:
        if self.sample_size or not self.n_clusters:
            return self.sample_size or _MAX_SAMPLE
        return max(_MIN_SAMPLE, _SAMPLE_PER_CLUSTER * self.n_clusters)

    def _embed(self, model: str) -> Pipeline:
        """Return the pipeline that writes vectors of texts, with their documents' positions."""
        reading = EmbeddingTextReading(self.text_field, self.id_field, self.storage)
        fields = [*DOCUMENT_PLACE, VECTOR_FIELD, *([ID] if self.id_field else [])]
        writer = ParquetWriter(
            self.folder("embedded"), compression=None, fields=fields, storage_options=self.storage
        )
        return Pipeline("embed", stages=[self.listing(), reading, embedder(model), writer])

    @property
    def _vectors(self) -> str | list[str]:
        """Where to read vectors: the input, unless they are computed from it."""
        return self.input_path if self.embedding_model is None else self.folder("embedded")

    @property
    def _vector_id(self) -> str | None:
        return ID if self.id_field and self.embedding_model is not None else self.id_field

    def _draw_sample(self) -> Pipeline:
        listing = SampledListing(
            self._vectors, self.input_blocksize, storage_options=self.storage_options
        )
        sampling = VectorSampling(
            self.embedding_field, self._sample_size, self.random_state, self.storage_options
        )
        writer = self._exchange("sample", "random_key", 1)
        return self.intermediate_pipeline("sample", [listing, sampling, writer])

    def _train(self, n_clusters: int) -> Pipeline:
        listing = ExchangeListing(self.folder("sample"), 1, self.storage_options)
        training = CenterTraining(
            n_clusters, self._sample_size, self.init, self.max_iter, self.tol, self.random_state,
            self.resources, self.storage_options,
        )  # fmt: skip
        writer = self._exchange("centers", "cluster", 1)
        return Pipeline("train", stages=[listing, training, writer], on_error="fail")

    def _assign(self, partitions: int) -> Pipeline:
        assigning = ClusterAssigning(
            self.embedding_field, self._vector_id, self.embedding_model is not None,
            self.resources, self.storage_options,
        )  # fmt: skip
        listing = replace(self.listing_with_decisions("centers", 1), input_path=self._vectors)
        writer = self._exchange("assignments", "cluster", partitions)
        return Pipeline("assign", stages=[listing, assigning, writer])

    def _compare(self, partitions: int) -> Pipeline:
        listing = ExchangeListing(self.folder("assignments"), partitions, self.storage_options)
        comparing = ClusterComparing(
            partitions, self.eps, self.which_to_keep, self.keep, self.keep_empty, self.id_field,
            self.random_state, self.memory, self.resources, self.storage_options,
        )  # fmt: skip
        writer = self._exchange("decisions", "block", partitions)
        return self.intermediate_pipeline("compare", [listing, comparing, writer])

    def _exchange(self, name: str, key: str, partitions: int) -> ExchangeWriter:
        """Do not compress: vectors do not compress well."""
        return replace(self.exchange(name, key, partitions), compression=None)


def clusters_for(vectors: int, sample: int) -> int:
    """Return a power of 2 near the square root, so that it rarely changes as a corpus grows."""
    return max(1, min(1 << round(vectors.bit_length() / 2), max(1, sample // _MIN_PER_CLUSTER)))
