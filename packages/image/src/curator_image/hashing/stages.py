"""The stage that adds perceptual hashes as columns."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast, get_args

import numpy as np
import pyarrow as pa
from curator_core import ProcessingStage, Rejected
from curator_core.errors import hint

from curator_image.batches import IMAGE, ImageBatch
from curator_image.decoding import Pixels
from curator_image.hashing.blurring import blurred
from curator_image.hashing.fingerprints import MADE_BY, SHAPES, Grey, Hashes, HashKind
from curator_image.views import View

PDQ_VIEW = View(short_side=512, mode="L")
VIEWS: dict[HashKind, View] = {
    **{
        kind: View(box=(shape.width, shape.height), mode="L", resampling="lanczos")
        for kind, shape in SHAPES.items()
        if kind != "pdq"
    },
    "pdq": PDQ_VIEW,
}


@dataclass
class PerceptualHash(ProcessingStage[ImageBatch, ImageBatch]):
    """Add a perceptual hash: phash and dhash as in ImageHash, or PDQ.

    The column is binary with 8 bytes, or 32 for pdq; `.hex()` gives the output of other tools.
    """

    kind: HashKind = "phash"
    """Kind of hash: phash, dhash or pdq."""

    hash_field: str | None = None
    """Column for the hash. Named after the kind by default."""

    def inputs(self) -> Sequence[str]:
        return (IMAGE,)

    def outputs(self) -> Sequence[str]:
        return (self.hash_field or self.kind,)

    def check(self) -> Iterable[str]:
        if self.kind not in get_args(HashKind):
            yield f"kind is {self.kind!r}{hint(str(self.kind), get_args(HashKind))}"

    def process(self, task: ImageBatch) -> list[ImageBatch | Rejected]:
        seen = task.measure(VIEWS[self.kind], small_of(self.kind))
        column = hash_column(hashes_of(seen.values, self.kind), self.kind)
        return [seen.batch.with_columns({self.hash_field or self.kind: column}), *seen.rejected]


def hashes_of(small: Sequence[Grey], kind: HashKind) -> Hashes:
    """Return the hashes of pictures that were already scaled down for this kind."""
    bits = SHAPES[kind].bits
    if not small:
        return np.zeros((0, bits // 8), np.uint8)
    return MADE_BY[kind](cast(Grey, np.stack(small)))


def small_of(kind: HashKind) -> Callable[[Pixels], Grey]:
    """Return the function that turns the pixels of `VIEWS` into the input of this kind."""
    return blurred if kind == "pdq" else _as_it_is


def _as_it_is(pixels: Pixels) -> Grey:
    return pixels


def hash_column(hashes: Hashes, kind: HashKind) -> pa.Array:
    width = pa.binary(SHAPES[kind].bits // 8)
    content = pa.py_buffer(np.ascontiguousarray(hashes))
    return pa.FixedSizeBinaryArray.from_buffers(width, len(hashes), [None, content])
